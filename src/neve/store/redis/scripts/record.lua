-- arguments: history, job_id, table, state, reason, outcome, what to count, then fields and values of the request
return framed(function()
    local job_id, tbl, now = arg(2), arg(3), now_us()
    if redis.call('EXISTS', job_key(job_id)) == 1 then
        return { 'known' }
    end
    insert(job_id, tbl, '', now, { unpack(ARGV, 10) })
    redis.call('HSET', job_key(job_id), 'outcome', arg(6))
    redis.call('ZADD', key('outcomes'), whole(now), job_id)
    add_totals(arg(7))
    put_state(job_id, arg(4), arg(5), now, tonumber(arg(1)))
    return { 'ok' }
end)
