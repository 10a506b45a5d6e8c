-- arguments: table_uuid, keys …; answers with the content of each, or nothing
return framed(function()
    local answer = { 'ok' }
    for number = 2, #ARGV - 2 do
        answer[number] = redis.call('HGET', key('write_keys:' .. arg(1)), arg(number)) or ''
    end
    return answer
end)
