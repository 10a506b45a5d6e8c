-- arguments: ids of entries
return framed(function()
    local found = {}
    for number = 3, #ARGV do
        found[#found + 1] = redis.call('HGETALL', key('quarantine:' .. ARGV[number]))
    end
    return { 'ok', found }
end)
