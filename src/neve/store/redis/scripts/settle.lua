-- arguments: job_id, epoch, state, reason, history
return framed(function()
    local job_id, state, now = arg(1), arg(3), now_us()
    local job = fields(job_id, 'table', 'state', 'epoch')
    if not job[1] or job[3] ~= arg(2) or FINAL[job[2]] or is_running(job_id, job[1], now) then
        return { 'no' }
    end
    end_epoch(job_id, job[1], job[3], now)
    count_end(job[1], state)
    if job[2] == 'queued' then
        dequeue(job_id, now)
    end
    put_state(job_id, state, arg(4), now, tonumber(arg(5)))
    return { 'ok' }
end)
