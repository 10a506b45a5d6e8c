-- arguments: table_uuid, how many keys are kept, writes without a key, then keys and their contents
return framed(function()
    local keys, order = key('write_keys:' .. arg(1)), key('write_order:' .. arg(1))
    local added = 0
    for number = 4, #ARGV - 2, 2 do
        if redis.call('HSETNX', keys, arg(number), arg(number + 1)) == 1 then
            redis.call('RPUSH', order, arg(number))
            added = added + 1
        end
    end
    while redis.call('LLEN', order) > tonumber(arg(2)) do
        redis.call('HDEL', keys, redis.call('LPOP', order))
    end
    local total = redis.call('HINCRBY', key('write_counts'), arg(1), added + tonumber(arg(3)))
    return { 'ok', whole(total) }
end)
