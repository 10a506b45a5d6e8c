-- arguments: table, reason
return framed(function()
    local now = now_us()
    local since = redis.call('HGET', key('set_aside'), arg(1)) or whole(now)
    redis.call('HSET', key('set_aside'), arg(1), since)
    redis.call('HSET', key('set_aside_reasons'), arg(1), arg(2))
    show_table(arg(1), now)
    return { 'ok' }
end)
