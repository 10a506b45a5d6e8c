-- arguments: approval_id, digest of the request, document, state, when, how long one is valid, how
-- long one is kept, tenant, how many it may ask for while they are valid
return framed(function()
    local latest = redis.call('HGET', key('approval_of'), arg(2))
    if latest then
        local row = redis.call('HMGET', key('approval:' .. latest),
            'document', 'state', 'decided_by', 'created_at')
        local is_open = row[2] == 'pending' or row[2] == 'approved'
        if is_open and tonumber(row[4]) > tonumber(arg(5)) - tonumber(arg(6)) then
            return { 'known', row[1], row[2], row[3] }
        end
    end
    local unused = key('unused_approvals:' .. arg(8))
    redis.call('ZREMRANGEBYSCORE', unused, '-inf', whole(tonumber(arg(5)) - tonumber(arg(6))))
    if redis.call('ZCARD', unused) >= tonumber(arg(9)) then
        return { 'too many' }
    end
    -- A few at a time, and more than come.
    for _ = 1, 10 do
        local oldest = redis.call('LINDEX', key('approvals'), 0)
        local row = oldest
            and redis.call('HMGET', key('approval:' .. oldest), 'created_at', 'digest')
        if not row or tonumber(row[1] or '0') >= tonumber(arg(5)) - tonumber(arg(7)) then
            break
        end
        redis.call('LPOP', key('approvals'))
        redis.call('DEL', key('approval:' .. oldest))
        if row[2] and redis.call('HGET', key('approval_of'), row[2]) == oldest then
            redis.call('HDEL', key('approval_of'), row[2])
        end
    end
    redis.call('HSET', key('approval:' .. arg(1)), 'document', arg(3), 'state', arg(4),
        'decided_by', '', 'created_at', arg(5), 'digest', arg(2), 'tenant', arg(8))
    redis.call('HSET', key('approval_of'), arg(2), arg(1))
    redis.call('RPUSH', key('approvals'), arg(1))
    redis.call('ZADD', unused, arg(5), arg(1))
    return { 'ok' }
end)
