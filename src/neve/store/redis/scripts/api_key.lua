-- arguments: prefix
return framed(function()
    return { 'ok', redis.call('HGET', key('api_keys'), arg(1)) or '',
        redis.call('HGET', key('revoked_keys'), arg(1)) or '' }
end)
