-- arguments: idempotency key
return framed(function()
    return { 'ok', redis.call('HGET', key('idempotency_keys'), arg(1)) or '' }
end)
