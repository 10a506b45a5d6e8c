-- arguments: tenant, day since 1970
return framed(function()
    local spent = redis.call('HMGET', spent_key(arg(2), arg(1)), 'bytes', 'usd')
    return { 'ok', redis.call('SCARD', unended(arg(1))), spent[1] or '0', spent[2] or '0' }
end)
