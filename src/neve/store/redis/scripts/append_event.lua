-- arguments: job_id, phase, message, progress or ''
return framed(function()
    local state = fields(arg(1), 'state')[1]
    -- A worker that was asleep may tell its own after the job's end.
    if arg(4) ~= '' and state and not FINAL[state] then
        redis.call('HSET', job_key(arg(1)), 'progress', arg(4))
    end
    return { 'ok', tell(arg(1), arg(2), arg(3), arg(4), now_us()) }
end)
