-- arguments: table, first and last place in the order of age
return framed(function()
    local found = {}
    for _, path in ipairs(redis.call('ZRANGE', key('leftovers_by_age:' .. arg(1)), arg(2), arg(3))) do
        found[#found + 1] = { path, redis.call('HGET', key('leftovers:' .. arg(1)), path) }
    end
    return { 'ok', found }
end)
