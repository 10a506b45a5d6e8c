-- arguments: job_id, table, epoch
-- The lease itself stays, so that its epoch goes on growing.
return framed(function()
    local lease = lease_of(arg(2))
    if lease.job_id == arg(1) and lease.epoch == arg(3) then
        free_table(arg(2), now_us())
    end
    return { 'ok' }
end)
