-- arguments: job_id, reason where it had not begun, history
return framed(function()
    local job_id, now = arg(1), now_us()
    local state = fields(job_id, 'state')[1]
    if not state then
        return { 'missing' }
    end
    if not FINAL[state] then
        redis.call('HSET', job_key(job_id), 'cancel_requested', '1')
    end
    if state == 'queued' then
        dequeue(job_id, now)
        put_state(job_id, 'cancelled', arg(2), now, tonumber(arg(3)))
    end
    return { 'ok', redis.call('HGETALL', job_key(job_id)) }
end)
