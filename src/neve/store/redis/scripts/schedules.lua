-- When the turns of tables came last, and the tables whose turns are left out.
return framed(function()
    return { 'ok', redis.call('HGETALL', key('runs')), redis.call('SMEMBERS', key('paused')) }
end)
