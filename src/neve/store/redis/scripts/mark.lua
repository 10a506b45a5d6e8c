-- argument: name
return framed(function()
    return { 'ok', redis.call('HGET', key('marks'), arg(1)) or '' }
end)
