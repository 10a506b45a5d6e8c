-- arguments: plan_id, how many are kept, table, document, requested_by
-- Whoever has the most of them makes room: nobody's plans push out those of others.
local function forgettable()
    local plans, owners, counts, most = redis.call('ZRANGE', key('plans'), 0, -1), {}, {}, 0
    for i, plan_id in ipairs(plans) do
        local owner = redis.call('HGET', key('plan:' .. plan_id), 'requested_by') or ''
        owners[i], counts[owner] = owner, (counts[owner] or 0) + 1
        most = math.max(most, counts[owner])
    end
    for i, plan_id in ipairs(plans) do
        if counts[owners[i]] == most then
            return plan_id
        end
    end
end

return framed(function()
    local plan = key('plan:' .. arg(1))
    if redis.call('EXISTS', plan) == 1 then
        return { 'known' }
    end
    local seq = redis.call('INCR', key('plan_seq'))
    redis.call('HSET', plan, 'plan_id', arg(1), 'table', arg(3), 'created_at', whole(now_us()),
        'document', arg(4), 'requested_by', arg(5))
    redis.call('ZADD', key('plans'), whole(seq), arg(1))
    while redis.call('ZCARD', key('plans')) > tonumber(arg(2)) do
        local oldest = forgettable()
        redis.call('ZREM', key('plans'), oldest)
        redis.call('DEL', key('plan:' .. oldest))
    end
    return { 'ok' }
end)
