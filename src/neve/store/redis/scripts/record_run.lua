-- arguments: tables
return framed(function()
    local now = now_us()
    for number = 3, #ARGV do
        local last = tonumber(redis.call('HGET', key('runs'), ARGV[number]) or '0')
        redis.call('HSET', key('runs'), ARGV[number], whole(math.max(last, now)))
    end
    return { 'ok' }
end)
