-- arguments: uuid of the table, its name, job_id, files, bytes
return framed(function()
    local sweep = key('sweep:' .. arg(1))
    redis.call('HSET', sweep, 'table', arg(2), 'job_id', arg(3), 'orphan_files', arg(4),
        'orphan_bytes', arg(5), 'swept_at', whole(now_us()))
    return { 'ok' }
end)
