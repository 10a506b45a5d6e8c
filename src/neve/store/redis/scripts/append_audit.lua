-- arguments: number, row, digest of the row before, digest of the row, digest before the first row
return framed(function()
    local head = redis.call('HMGET', key('audit_head'), 'number', 'digest')
    local number, digest = tonumber(head[1] or '0'), head[2] or arg(5)
    if tonumber(arg(1)) ~= number + 1 or arg(3) ~= digest then
        return { 'late' }
    end
    redis.call('RPUSH', key('audit'), arg(2))
    redis.call('HSET', key('audit_head'), 'number', arg(1), 'digest', arg(4))
    return { 'ok' }
end)
