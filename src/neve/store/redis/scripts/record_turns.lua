-- arguments: for each turn the table, when its turn was seen to have come last or '', the slot
return framed(function()
    local had, now = {}, now_us()
    for number = 3, #ARGV, 3 do
        local tbl, seen, slot = ARGV[number], ARGV[number + 1], tonumber(ARGV[number + 2])
        local is_had = (redis.call('HGET', key('runs'), tbl) or '') == seen
        if is_had then
            redis.call('HSET', key('runs'), tbl, whole(math.max(now, slot)))
        end
        had[#had + 1] = is_had and 1 or 0
    end
    return { 'ok', had }
end)
