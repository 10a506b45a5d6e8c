-- arguments: worker, what it says, for how many microseconds
return framed(function()
    local now = now_us()
    for _, gone in ipairs(redis.call('ZRANGEBYSCORE', key('workers'), '-inf', whole(now))) do
        redis.call('HDEL', key('announced'), gone)
        redis.call('ZREM', key('workers'), gone)
    end
    redis.call('HSET', key('announced'), arg(1), arg(2))
    redis.call('ZADD', key('workers'), whole(now + tonumber(arg(3))), arg(1))
    return { 'ok' }
end)
