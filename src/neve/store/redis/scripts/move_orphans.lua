-- arguments: state, '1' where it is final, reason, then ids of entries
-- A final state stays.
return framed(function()
    local now = whole(now_us())
    for number = 6, #ARGV do
        local entry = key('quarantine:' .. ARGV[number])
        local known = redis.call('HMGET', entry, 'uuid', 'path')
        local open = known[1] and key('quarantine_open:' .. known[1])
        if open and redis.call('ZSCORE', open, ARGV[number]) then
            redis.call('HSET', entry, 'state', arg(1), 'state_at', now, 'state_reason', arg(3))
            if arg(2) == '1' then
                redis.call('ZREM', open, ARGV[number])
                redis.call('HDEL', key('quarantine_waiting:' .. known[1]), known[2])
            end
        end
    end
    return { 'ok' }
end)
