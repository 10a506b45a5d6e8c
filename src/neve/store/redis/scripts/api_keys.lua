-- no arguments
return framed(function()
    local found, all = {}, redis.call('HGETALL', key('api_keys'))
    for place = 1, #all, 2 do
        local revoked_at = redis.call('HGET', key('revoked_keys'), all[place]) or ''
        found[#found + 1] = { all[place + 1], revoked_at }
    end
    return { 'ok', found }
end)
