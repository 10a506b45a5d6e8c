-- argument: worker
return framed(function()
    redis.call('HDEL', key('announced'), arg(1))
    redis.call('ZREM', key('workers'), arg(1))
    return { 'ok' }
end)
