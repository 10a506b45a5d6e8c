-- argument: table
return framed(function()
    redis.call('SADD', key('paused'), arg(1))
    return { 'ok' }
end)
