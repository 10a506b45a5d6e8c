-- arguments: job_id, epoch, state, reason, history
return framed(function()
    local job_id, now = arg(1), now_us()
    local lease = is_newest(job_id, arg(2))
    if not lease or lease.expires_at <= now or FINAL[fields(job_id, 'state')[1]] then
        return { 'lost' }
    end
    put_state(job_id, arg(3), arg(4), now, tonumber(arg(5)))
    return { 'ok' }
end)
