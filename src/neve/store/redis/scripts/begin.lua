-- arguments: lease in microseconds, job_id, table, idempotency key or '', then fields and values
-- Nothing is left of a job whose table is busy.
return framed(function()
    local lease_us, job_id, tbl, now = tonumber(arg(1)), arg(2), arg(3), now_us()
    local lease = lease_of(tbl)
    if lease.expires_at > now then
        return { 'busy', lease.job_id }
    end
    local meant = submit(job_id, tbl, arg(4), now, { unpack(ARGV, 7) })
    if not meant then
        return { 'no room' }
    end
    local job = fields(meant, 'state', 'table')
    if meant ~= job_id or job[1] ~= 'queued' or job[2] ~= tbl then
        return { 'begun', meant }
    end
    return claim(job_id, tbl, now, lease_us)
end)
