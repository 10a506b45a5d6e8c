-- argument: table
return framed(function()
    return { 'ok', redis.call('HGET', key('failures'), arg(1)) or '0' }
end)
