-- argument: lease in microseconds
local BATCH = 100

-- Jobs whose time has come, and tables whose lease or pause is over; how many of all.
local function wake(now)
    local due = redis.call('ZRANGEBYSCORE', key('delayed'), '-inf', whole(now), 'LIMIT', 0, BATCH)
    for _, job_id in ipairs(due) do
        redis.call('ZREM', key('delayed'), job_id)
        enqueue(job_id, now)
    end
    local over = redis.call('ZRANGEBYSCORE', key('held'), '-inf', whole(now), 'LIMIT', 0, BATCH)
    for _, tbl in ipairs(over) do
        redis.call('ZREM', key('held'), tbl)
        show_table(tbl, now)
    end
    local tries = redis.call('ZRANGEBYSCORE', key('tries'), '-inf', whole(now), 'LIMIT', 0, BATCH)
    for _, tbl in ipairs(tries) do
        redis.call('ZREM', key('tries'), tbl)
        redis.call('SADD', key('tried'), tbl)
        show_table(tbl, now)
    end
    return #due + #over + #tries
end

return framed(function()
    local now = now_us()
    local woken, tenant
    repeat
        woken = wake(now)
        tenant = redis.call('ZRANGE', key('waiting_tenants'), 0, 0)[1]
    until tenant or woken == 0
    if not tenant then
        return { 'none' }
    end
    local first = redis.call('ZRANGE', key('ready:' .. tenant), 0, 0)[1]
    local job_id = string.sub(first, 18)
    local turn = whole(redis.call('INCR', key('turn')))
    redis.call('HSET', key('turns'), tenant, turn)
    local claimed = claim(job_id, fields(job_id, 'table')[1], now, tonumber(arg(1)))
    -- Where the tenant has more to do, it comes after all others.
    if redis.call('ZSCORE', key('waiting_tenants'), tenant) then
        redis.call('ZADD', key('waiting_tenants'), turn, tenant)
    end
    return claimed
end)
