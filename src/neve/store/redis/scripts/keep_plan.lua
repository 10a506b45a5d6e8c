-- arguments: plan_id, how many are kept, table, document, requested_by
return framed(function()
    local plan = key('plan:' .. arg(1))
    if redis.call('EXISTS', plan) == 1 then
        return { 'known' }
    end
    local seq = redis.call('INCR', key('plan_seq'))
    redis.call('HSET', plan, 'plan_id', arg(1), 'table', arg(3), 'created_at', whole(now_us()),
        'document', arg(4), 'requested_by', arg(5))
    redis.call('ZADD', key('plans'), whole(seq), arg(1))
    for _, oldest in ipairs(redis.call('ZRANGE', key('plans'), 0, -1 - tonumber(arg(2)))) do
        redis.call('ZREM', key('plans'), oldest)
        redis.call('DEL', key('plan:' .. oldest))
    end
    return { 'ok' }
end)
