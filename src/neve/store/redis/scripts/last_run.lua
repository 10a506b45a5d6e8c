-- argument: table
return framed(function()
    return { 'ok', redis.call('HGET', key('runs'), arg(1)) or '',
        redis.call('SISMEMBER', key('paused'), arg(1)) }
end)
