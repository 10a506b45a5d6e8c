-- arguments: table, name, lease in microseconds, what it reads from as text
return framed(function()
    local until_us = whole(now_us() + tonumber(arg(3)))
    redis.call('SADD', key('consumed_tables'), arg(1))
    redis.call('HSET', key('consumers:' .. arg(1)), arg(2), until_us .. ' ' .. arg(4))
    return { 'ok' }
end)
