-- arguments: job_id, phase, message, progress or ''
return framed(function()
    if arg(4) ~= '' and redis.call('EXISTS', job_key(arg(1))) == 1 then
        redis.call('HSET', job_key(arg(1)), 'progress', arg(4))
    end
    return { 'ok', tell(arg(1), arg(2), arg(3), arg(4), now_us()) }
end)
