-- arguments: lease in microseconds, job_id
return framed(function()
    local job_id, now = arg(2), now_us()
    local job = fields(job_id, 'table', 'state')
    if not job[1] then
        return { 'missing' }
    end
    local lease = lease_of(job[1])
    if lease.expires_at > now then
        return { 'busy', lease.job_id, job[1] }
    end
    if job[2] ~= 'queued' then
        return { 'begun', job_id }
    end
    return claim(job_id, job[1], now, tonumber(arg(1)))
end)
