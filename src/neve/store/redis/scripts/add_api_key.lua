-- arguments: prefix, document
return framed(function()
    if redis.call('HSETNX', key('api_keys'), arg(1), arg(2)) == 0 then
        return { 'taken' }
    end
    return { 'ok' }
end)
