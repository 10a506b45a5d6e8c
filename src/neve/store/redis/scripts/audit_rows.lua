-- arguments: places of the first and the last row, from 0
return framed(function()
    return { 'ok', redis.call('LRANGE', key('audit'), arg(1), arg(2)),
        redis.call('LLEN', key('audit')) }
end)
