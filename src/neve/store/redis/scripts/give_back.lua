-- arguments: job_id, epoch, reason, microseconds to wait or '' for an attempt that does not count,
-- history
-- What a job of unknown end did is told by its table, not by who ran it.
return framed(function()
    local job_id, now = arg(1), now_us()
    local state = fields(job_id, 'state')[1]
    if not is_newest(job_id, arg(2)) or FINAL[state] or state == 'queued' or state == 'unknown' then
        return { 'lost' }
    end
    local is_failure, not_before = arg(4) ~= '', nil
    if is_failure then
        not_before = whole(now + tonumber(arg(4)))
    else
        redis.call('HINCRBY', job_key(job_id), 'attempts', -1)
    end
    queue_again(job_id, arg(3), not_before, is_failure, now, tonumber(arg(5)))
    return { 'ok', redis.call('HGETALL', job_key(job_id)) }
end)
