-- arguments: tenant, day since 1970, room, jobs, microseconds, then what the tenant had when its
-- quota was looked at: open and held jobs, bytes, dollars. Nothing is held where that has changed.
return framed(function()
    local tenant, now = arg(1), now_us()
    local has = usage_of(tenant, arg(2), now)
    if has[1] ~= arg(6) or has[2] ~= arg(7) or has[3] ~= arg(8) then
        return { 'moved', has[1], has[2], has[3] }
    end
    for place = 1, tonumber(arg(4)) do
        redis.call('ZADD', rooms(tenant), whole(now + tonumber(arg(5))), arg(3) .. ':' .. place)
    end
    return { 'ok' }
end)
