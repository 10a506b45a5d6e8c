-- arguments: prefix, when
return framed(function()
    if redis.call('HEXISTS', key('api_keys'), arg(1)) == 0
        or redis.call('HSETNX', key('revoked_keys'), arg(1), arg(2)) == 0 then
        return { 'not there' }
    end
    return { 'ok' }
end)
