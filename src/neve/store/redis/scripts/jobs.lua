-- Jobs, leases and the queue: what several scripts do.
-- Times are microseconds of the server's clock. A job waits in the queue of its tenant and table;
-- the first of each queue whose table is free stands in ready:<tenant>, so that choosing the next
-- job never looks at those that cannot begin.
local EVENTS = 50000
local FINAL = { succeeded = true, failed = true, cancelled = true }

local function job_key(job_id)
    return key('job:' .. job_id)
end

local function fields(job_id, ...)
    return redis.call('HMGET', job_key(job_id), ...)
end

local function lease_of(tbl)
    local found = redis.call('HMGET', key('lease:' .. tbl), 'job_id', 'epoch', 'expires_at')
    return { job_id = found[1], epoch = found[2], expires_at = tonumber(found[3] or '0') }
end

local function is_newest(job_id, epoch)
    local tbl = fields(job_id, 'table')[1]
    if not tbl then
        return nil
    end
    local lease = lease_of(tbl)
    return lease.job_id == job_id and lease.epoch == epoch and lease or nil
end

local function is_running(job_id, tbl, now)
    local lease = lease_of(tbl)
    return lease.job_id == job_id and lease.expires_at > now
end

-- A tenant may have any name: its length tells where it ends.
local function queue_name(tenant, tbl)
    return #tenant .. ':' .. tenant .. ':' .. tbl
end

local function place(seq, job_id)
    return string.format('%016.0f', tonumber(seq)) .. ':' .. job_id
end

-- A table that is set aside is free while it is being tried.
local function is_free(tbl, now)
    if redis.call('HEXISTS', key('set_aside'), tbl) == 1
        and redis.call('SISMEMBER', key('tried'), tbl) == 0 then
        return false
    end
    local expires_at = redis.call('ZSCORE', key('held'), tbl)
    return not expires_at or tonumber(expires_at) <= now
end

-- Let the first job of a queue stand in ready:<tenant>, or none where the table is not free.
local function show_first(tenant, tbl, free)
    local queue, ready = queue_name(tenant, tbl), key('ready:' .. tenant)
    local shown = redis.call('HGET', key('shown'), queue)
    local first = {}
    if free then
        first = redis.call('ZRANGE', key('queue:' .. queue), 0, 0, 'WITHSCORES')
    end
    if shown and shown ~= first[1] then
        redis.call('ZREM', ready, shown)
        redis.call('HDEL', key('shown'), queue)
    end
    if first[1] and first[1] ~= shown then
        redis.call('ZADD', ready, first[2], first[1])
        redis.call('HSET', key('shown'), queue, first[1])
    end
    if redis.call('EXISTS', ready) == 0 then
        redis.call('ZREM', key('waiting_tenants'), tenant)
    else
        local turn = redis.call('HGET', key('turns'), tenant) or '0'
        redis.call('ZADD', key('waiting_tenants'), turn, tenant)
    end
end

local function show_table(tbl, now)
    local free = is_free(tbl, now)
    for _, tenant in ipairs(redis.call('SMEMBERS', key('tenants:' .. tbl))) do
        show_first(tenant, tbl, free)
    end
end

local function forget_tries(tbl)
    redis.call('SREM', key('tried'), tbl)
    redis.call('ZREM', key('tries'), tbl)
    redis.call('HDEL', key('retry_at'), tbl)
    redis.call('HDEL', key('retry_after'), tbl)
end

-- Whoever begins the one job of a try lets the others wait for the next.
local function wait_for_try(tbl, now)
    local wait = redis.call('HGET', key('retry_after'), tbl)
    if wait then
        local retry_at = whole(now + tonumber(wait))
        redis.call('SREM', key('tried'), tbl)
        redis.call('ZADD', key('tries'), retry_at, tbl)
        redis.call('HSET', key('retry_at'), tbl, retry_at)
    end
end

local function put_back(tbl, now)
    local known = redis.call('HDEL', key('set_aside'), tbl) == 1
    if known then
        redis.call('HDEL', key('set_aside_reasons'), tbl)
        redis.call('HDEL', key('failures'), tbl)
        forget_tries(tbl)
        show_table(tbl, now)
    end
    return known
end

local function enqueue(job_id, now)
    local job = fields(job_id, 'tenant', 'table', 'priority', 'seq', 'not_before')
    local tenant, tbl = job[1], job[2]
    if tonumber(job[5]) > now then
        redis.call('ZADD', key('delayed'), job[5], job_id)
        return
    end
    local queue = key('queue:' .. queue_name(tenant, tbl))
    redis.call('ZADD', queue, whole(-tonumber(job[3])), place(job[4], job_id))
    redis.call('SADD', key('tenants:' .. tbl), tenant)
    show_first(tenant, tbl, is_free(tbl, now))
end

local function dequeue(job_id, now)
    local job = fields(job_id, 'tenant', 'table', 'seq')
    local tenant, tbl = job[1], job[2]
    local queue = key('queue:' .. queue_name(tenant, tbl))
    redis.call('ZREM', key('delayed'), job_id)
    redis.call('ZREM', queue, place(job[3], job_id))
    show_table(tbl, now)
    if redis.call('EXISTS', queue) == 0 then
        redis.call('SREM', key('tenants:' .. tbl), tenant)
    end
end

-- Events of all jobs have one row of numbers, and the oldest of all are forgotten.
local function tell(job_id, phase, message, progress, now)
    local number = whole(redis.call('INCR', key('event_numbers')))
    local event = cjson.encode({ number, whole(now), phase, message, progress })
    redis.call('ZADD', key('events_of:' .. job_id), number, event)
    redis.call('ZADD', key('events'), number, job_id .. ':' .. number)
    if redis.call('ZCARD', key('events')) > EVENTS then
        local oldest = redis.call('ZPOPMIN', key('events'), 2)
        for place = 1, #oldest, 2 do
            local told = oldest[place + 1]
            local teller = string.sub(oldest[place], 1, -#whole(told) - 2)
            redis.call('ZREMRANGEBYSCORE', key('events_of:' .. teller), told, told)
        end
    end
    return number
end

-- Ended jobs are forgotten beyond so many, the oldest first.
local function trim(history)
    local ended = key('ended')
    if redis.call('ZCARD', ended) <= history then
        return
    end
    for _, job_id in ipairs(redis.call('ZRANGE', ended, 0, 9)) do
        if redis.call('ZCARD', ended) <= history then
            return
        end
        local job = fields(job_id, 'table', 'idempotency_key')
        redis.call('ZREM', ended, job_id)
        redis.call('ZREM', key('outcomes'), job_id)
        redis.call('ZREM', key('dead'), job_id)
        redis.call('ZREM', key('jobs'), job_id)
        redis.call('ZREM', key('jobs_of:' .. (job[1] or '')), job_id)
        if job[2] then
            redis.call('HDEL', key('idempotency_keys'), job[2])
        end
        redis.call('DEL', job_key(job_id), key('events_of:' .. job_id))
    end
end

-- Jobs of a tenant that have no end. A tenant may have any name, and nothing follows it.
local function unended(tenant)
    return key('unended:' .. tenant)
end

-- Room that is held for jobs of a tenant, a member for each, by when it is given to others.
local function rooms(tenant)
    return key('rooms:' .. tenant)
end

-- What is left of a room that is held; nil where nothing is.
local function room_member(tenant, room, now)
    for _, held in ipairs(redis.call('ZRANGEBYSCORE', rooms(tenant), whole(now), '+inf')) do
        if string.sub(held, 1, #room + 1) == room .. ':' then
            return held
        end
    end
    return nil
end

-- Put a job into room that is held for it; false where that was given to others.
local function use_room(tenant, room, now)
    local held = room_member(tenant, room, now)
    return held ~= nil and redis.call('ZREM', rooms(tenant), held) == 1
end

-- What jobs of a tenant that ended on a day of UTC took; the day after the next it is forgotten.
local function spent_key(day, tenant)
    return key('spent:' .. day .. ':' .. tenant)
end

-- Jobs of a tenant that are open or have room, and what those took that ended on a day.
local function usage_of(tenant, day, now)
    redis.call('ZREMRANGEBYSCORE', rooms(tenant), '-inf', '(' .. whole(now))
    local open = redis.call('SCARD', unended(tenant)) + redis.call('ZCARD', rooms(tenant))
    local spent = redis.call('HMGET', spent_key(day, tenant), 'bytes', 'usd')
    return { whole(open), spent[1] or '0', spent[2] or '0' }
end

local function add_spent(job_id, bytes, usd, now)
    local spent = spent_key(whole(math.floor(now / 86400000000)), fields(job_id, 'tenant')[1] or '')
    redis.call('HINCRBYFLOAT', spent, 'bytes', bytes)
    redis.call('HINCRBYFLOAT', spent, 'usd', usd)
    redis.call('EXPIRE', spent, 259200)
end

-- The open jobs of a table are those that began and have no end.
local function put_state(job_id, state, reason, now, history)
    local job = fields(job_id, 'table', 'seq', 'tenant', 'state', 'operation')
    local open, open_of, before = key('open'), key('open_of:' .. job[1]), job[4]
    redis.call('HSET', job_key(job_id), 'state', state, 'reason', reason, 'updated_at', whole(now))
    if before ~= state then
        tell(job_id, state, reason, '', now)
    end
    if FINAL[state] or state == 'queued' then
        redis.call('ZREM', open, job_id)
        redis.call('ZREM', open_of, job_id)
    else
        redis.call('ZADD', open, job[2], job_id)
        redis.call('ZADD', open_of, job[2], job_id)
    end
    if FINAL[state] then
        if not FINAL[before] then
            local name = 'jobs:' .. job[5] .. ':' .. state
            redis.call('HINCRBY', key('totals'), name, 1)
        end
        redis.call('SREM', key('alive_of:' .. job[1]), job_id)
        redis.call('SREM', unended(job[3] or ''), job_id)
        redis.call('ZADD', key('ended'), whole(redis.call('INCR', key('ends'))), job_id)
        trim(history)
    end
end

-- Figures that only grow, by name, as a JSON text.
local function add_totals(text)
    for name, amount in pairs(cjson.decode(text)) do
        redis.call('HINCRBYFLOAT', key('totals'), name, string.format('%.17g', amount))
    end
end

-- What workers set aside is well again with a success; what a person set aside stays so.
local function count_end(tbl, state)
    if state == 'failed' then
        redis.call('HINCRBY', key('failures'), tbl, 1)
    elseif state == 'succeeded' then
        redis.call('HDEL', key('failures'), tbl)
        if redis.call('HEXISTS', key('retry_after'), tbl) == 1 then
            put_back(tbl, now_us())
        end
    end
end

-- seq, created_at, updated_at and epoch are the store's; pairs are those of the request.
local function insert(job_id, tbl, idempotency_key, now, pairs_of_request)
    local seq = redis.call('INCR', key('seq'))
    redis.call('HSET', job_key(job_id), 'job_id', job_id, 'table', tbl, 'seq', whole(seq),
        'created_at', whole(now), 'updated_at', whole(now), 'epoch', '0', 'attempts', '0',
        'reason', '', 'cancel_requested', '0', 'is_dead', '0', unpack(pairs_of_request))
    redis.call('ZADD', key('jobs'), whole(seq), job_id)
    redis.call('ZADD', key('jobs_of:' .. tbl), whole(seq), job_id)
    if idempotency_key ~= '' then
        redis.call('HSET', job_key(job_id), 'idempotency_key', idempotency_key)
        redis.call('HSET', key('idempotency_keys'), idempotency_key, job_id)
    end
end

-- The job that a request means: one of the same key, one of the same id, or a new one. Nothing is
-- returned where it was to be put into room that is held no more.
local function submit(job_id, tbl, idempotency_key, now, pairs_of_request)
    local known = idempotency_key ~= ''
        and redis.call('HGET', key('idempotency_keys'), idempotency_key)
    if known then
        return known
    end
    if redis.call('EXISTS', job_key(job_id)) == 0 then
        local said = {}
        for place = 1, #pairs_of_request, 2 do
            said[pairs_of_request[place]] = pairs_of_request[place + 1]
        end
        if said['room'] and not use_room(said['tenant'], said['room'], now) then
            return nil
        end
        insert(job_id, tbl, idempotency_key, now, pairs_of_request)
        redis.call('HSET', job_key(job_id), 'state', 'queued')
        redis.call('SADD', key('alive_of:' .. tbl), job_id)
        redis.call('SADD', unended(fields(job_id, 'tenant')[1] or ''), job_id)
        tell(job_id, 'queued', '', '', now)
        enqueue(job_id, now)
    end
    return job_id
end

-- Give the table to a queued job, with an epoch that no claim of it had before.
local function claim(job_id, tbl, now, lease_us)
    local lease, expires_at = key('lease:' .. tbl), whole(now + lease_us)
    local epoch = whole(redis.call('HINCRBY', lease, 'epoch', 1))
    redis.call('HSET', lease, 'job_id', job_id, 'expires_at', expires_at)
    redis.call('ZADD', key('held'), expires_at, tbl)
    redis.call('HSET', job_key(job_id), 'epoch', epoch, 'started_at', whole(now), 'progress', '')
    redis.call('HINCRBY', job_key(job_id), 'attempts', 1)
    put_state(job_id, 'planning', '', now, 0)
    if redis.call('SISMEMBER', key('tried'), tbl) == 1 then
        wait_for_try(tbl, now)
    end
    dequeue(job_id, now)
    return { 'ok', job_id, tbl, epoch, expires_at }
end

local function free_table(tbl, now)
    redis.call('HSET', key('lease:' .. tbl), 'expires_at', '0')
    redis.call('ZREM', key('held'), tbl)
    show_table(tbl, now)
end

-- A worker that wakes up late finds that its epoch is over.
local function end_epoch(job_id, tbl, epoch, now)
    local lease = lease_of(tbl)
    if lease.job_id == job_id and lease.epoch == epoch then
        redis.call('HINCRBY', key('lease:' .. tbl), 'epoch', 1)
        free_table(tbl, now)
    end
end

-- Queue a job again, unless it is to be cancelled or has no attempt left.
local function queue_again(job_id, reason, not_before, is_failure, now, history)
    local job = fields(job_id, 'table', 'epoch', 'attempts', 'max_attempts', 'cancel_requested')
    end_epoch(job_id, job[1], job[2], now)
    if is_failure then
        count_end(job[1], 'failed')
    end
    if not_before then
        redis.call('HSET', job_key(job_id), 'not_before', not_before)
    end
    if job[5] == '1' then
        put_state(job_id, 'cancelled', reason, now, history)
    elseif is_failure and tonumber(job[3]) >= tonumber(job[4]) then
        redis.call('HSET', job_key(job_id), 'is_dead', '1')
        redis.call('ZADD', key('dead'), whole(now), job_id)
        put_state(job_id, 'failed', reason, now, history)
    else
        put_state(job_id, 'queued', reason, now, history)
        enqueue(job_id, now)
    end
end
