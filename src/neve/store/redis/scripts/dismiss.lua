-- argument: job_id
return framed(function()
    if redis.call('ZREM', key('dead'), arg(1)) == 0 then
        return { 'no' }
    end
    redis.call('HSET', job_key(arg(1)), 'is_dead', '0')
    return { 'ok' }
end)
