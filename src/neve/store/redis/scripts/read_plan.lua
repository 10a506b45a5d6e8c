-- arguments: plan_id
return framed(function()
    return { 'ok', redis.call('HGETALL', key('plan:' .. arg(1))) }
end)
