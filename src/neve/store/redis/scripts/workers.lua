-- What those say whose time is not over.
return framed(function()
    local found = {}
    local there = redis.call('ZRANGEBYSCORE', key('workers'), '(' .. whole(now_us()), '+inf')
    for number, worker in ipairs(there) do
        found[number] = redis.call('HGET', key('announced'), worker)
    end
    return { 'ok', found }
end)
