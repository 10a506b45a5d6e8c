-- arguments: approval_id, old state, new state, who decided if that is told
return framed(function()
    local approval = key('approval:' .. arg(1))
    if redis.call('HGET', approval, 'state') ~= arg(2) then
        return { 'moved' }
    end
    redis.call('HSET', approval, 'state', arg(3))
    if arg(4) then
        redis.call('HSET', approval, 'decided_by', arg(4))
    end
    return { 'ok' }
end)
