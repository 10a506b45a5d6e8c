-- arguments: name of a sorted set of jobs, how many, and the score below which they are or ''
return framed(function()
    local below = arg(3) == '' and '+inf' or '(' .. arg(3)
    return { 'ok', redis.call('ZREVRANGEBYSCORE', key(arg(1)), below, '-inf',
        'LIMIT', 0, tonumber(arg(2))) }
end)
