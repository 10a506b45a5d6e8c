-- arguments: approval_id, old state, new state, who decided if that is told
return framed(function()
    local approval = key('approval:' .. arg(1))
    if redis.call('HGET', approval, 'state') ~= arg(2) then
        return { 'moved' }
    end
    redis.call('HSET', approval, 'state', arg(3))
    -- One of an earlier version says no tenant, and is not counted.
    local row = redis.call('HMGET', approval, 'tenant', 'created_at')
    if row[1] and arg(3) == 'used' then
        redis.call('ZREM', key('unused_approvals:' .. row[1]), arg(1))
    elseif row[1] then
        redis.call('ZADD', key('unused_approvals:' .. row[1]), row[2], arg(1))
    end
    if arg(4) then
        redis.call('HSET', approval, 'decided_by', arg(4))
    end
    return { 'ok' }
end)
