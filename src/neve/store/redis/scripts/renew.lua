-- arguments: lease in microseconds, job_id, table, epoch
return framed(function()
    local job_id, tbl, epoch, now = arg(2), arg(3), arg(4), now_us()
    local lease = lease_of(tbl)
    -- One whose time is over is still its job's, until the epoch ends; one given back is nobody's.
    if lease.job_id ~= job_id or lease.epoch ~= epoch or lease.expires_at <= 0 then
        return { 'lost' }
    end
    local expires_at = whole(now + tonumber(arg(1)))
    redis.call('HSET', key('lease:' .. tbl), 'expires_at', expires_at)
    redis.call('ZADD', key('held'), expires_at, tbl)
    return { 'ok', expires_at, fields(job_id, 'cancel_requested')[1] or '0' }
end)
