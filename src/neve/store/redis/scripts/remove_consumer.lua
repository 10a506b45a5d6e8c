-- arguments: table, name
return framed(function()
    local known = redis.call('HDEL', key('consumers:' .. arg(1)), arg(2)) == 1
    if redis.call('EXISTS', key('consumers:' .. arg(1))) == 0 then
        redis.call('SREM', key('consumed_tables'), arg(1))
    end
    return { known and 'ok' or 'no' }
end)
