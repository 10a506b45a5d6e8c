-- arguments: table, when its turn was expected to have come last or '', the slot of this turn
return framed(function()
    local last = redis.call('HGET', key('runs'), arg(1)) or ''
    if last ~= arg(2) then
        return { 'no' }
    end
    redis.call('HSET', key('runs'), arg(1), whole(math.max(now_us(), tonumber(arg(3)))))
    return { 'ok' }
end)
