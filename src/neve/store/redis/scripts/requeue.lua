-- arguments: job_id, epoch, reason, microseconds to wait, history
return framed(function()
    local job_id, now = arg(1), now_us()
    local job = fields(job_id, 'table', 'state', 'epoch')
    if not job[1] or job[3] ~= arg(2) or FINAL[job[2]] or job[2] == 'queued'
        or is_running(job_id, job[1], now) then
        return { 'no' }
    end
    queue_again(job_id, arg(3), whole(now + tonumber(arg(4))), true, now, tonumber(arg(5)))
    return { 'ok' }
end)
