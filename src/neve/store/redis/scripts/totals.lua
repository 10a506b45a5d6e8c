-- Jobs that wait are those that neither began nor ended.
return framed(function()
    local jobs, ended = redis.call('ZCARD', key('jobs')), redis.call('ZCARD', key('ended'))
    local begun, dead = redis.call('ZCARD', key('open')), redis.call('ZCARD', key('dead'))
    return { 'ok', redis.call('HGETALL', key('totals')), jobs - ended - begun, begun, dead }
end)
