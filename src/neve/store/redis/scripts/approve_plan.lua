-- arguments: plan_id, by
return framed(function()
    local plan = key('plan:' .. arg(1))
    if redis.call('EXISTS', plan) == 1 and redis.call('HEXISTS', plan, 'approved_at') == 0 then
        redis.call('HSET', plan, 'approved_at', whole(now_us()), 'approved_by', arg(2))
    end
    return { 'ok' }
end)
