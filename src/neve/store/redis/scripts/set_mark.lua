-- arguments: name, value, what is expected there
return framed(function()
    if (redis.call('HGET', key('marks'), arg(1)) or '') ~= arg(3) then
        return { 'other' }
    end
    redis.call('HSET', key('marks'), arg(1), arg(2))
    return { 'ok' }
end)
