-- arguments: tenant, room, jobs
return framed(function()
    for place = 1, tonumber(arg(3)) do
        redis.call('ZREM', rooms(arg(1)), arg(2) .. ':' .. place)
    end
    return { 'ok' }
end)
