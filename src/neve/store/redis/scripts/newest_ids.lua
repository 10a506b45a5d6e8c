-- arguments: name of a sorted set of jobs, how many
return framed(function()
    return { 'ok', redis.call('ZREVRANGE', key(arg(1)), 0, tonumber(arg(2)) - 1) }
end)
