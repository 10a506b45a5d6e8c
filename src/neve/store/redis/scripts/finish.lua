-- arguments: job_id, epoch, state, reason, outcome or '', history, what to count, bytes, dollars,
--   '0' where a failure is not the table's fault
-- The lease may be over by now, but nobody else may have claimed the table or settled the job.
return framed(function()
    local job_id, state, now = arg(1), arg(3), now_us()
    local job = fields(job_id, 'table', 'state')
    if not is_newest(job_id, arg(2)) or FINAL[job[2]] then
        return { 'lost' }
    end
    if arg(5) ~= '' then
        redis.call('HSET', job_key(job_id), 'outcome', arg(5))
        redis.call('ZADD', key('outcomes'), whole(now), job_id)
    end
    if arg(10) ~= '0' then
        count_end(job[1], state)
    end
    add_totals(arg(7))
    if FINAL[state] then
        add_spent(job_id, arg(8), arg(9), now)
    end
    put_state(job_id, state, arg(4), now, tonumber(arg(6)))
    return { 'ok' }
end)
