-- arguments: tenant, day since 1970, room, jobs, microseconds, idempotency key or '', then what the
-- tenant had when its quota was looked at: open and held jobs, bytes, dollars. Nothing is held where
-- that has changed, nor where the room is held already or a job has the key.
return framed(function()
    local tenant, now = arg(1), now_us()
    local has = usage_of(tenant, arg(2), now)
    if arg(6) ~= '' and redis.call('HEXISTS', key('idempotency_keys'), arg(6)) == 1 then
        return { 'known' }
    end
    if room_member(tenant, arg(3), now) then
        return { 'known' }
    end
    if has[1] ~= arg(7) or has[2] ~= arg(8) or has[3] ~= arg(9) then
        return { 'moved', has[1], has[2], has[3] }
    end
    for place = 1, tonumber(arg(4)) do
        redis.call('ZADD', rooms(tenant), whole(now + tonumber(arg(5))), arg(3) .. ':' .. place)
    end
    return { 'ok' }
end)
