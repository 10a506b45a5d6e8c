-- arguments: name, the revision that is expected there
return framed(function()
    local policy = key('policy:' .. arg(1))
    if redis.call('HGET', policy, 'revision') ~= arg(2) then
        return { 'other' }
    end
    redis.call('DEL', policy)
    redis.call('SREM', key('policies'), arg(1))
    return { 'ok' }
end)
