-- argument: table
return framed(function()
    return { redis.call('SREM', key('paused'), arg(1)) == 1 and 'ok' or 'no' }
end)
