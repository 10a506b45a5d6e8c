-- arguments: table, reason, after how many microseconds one job is tried or nothing
return framed(function()
    local now, tbl = now_us(), arg(1)
    -- What a person set aside stays so, whatever ends on the table after it.
    if arg(3) ~= '' and redis.call('HEXISTS', key('set_aside'), tbl) == 1
        and redis.call('HEXISTS', key('retry_after'), tbl) == 0 then
        return { 'ok' }
    end
    local since = redis.call('HGET', key('set_aside'), tbl) or whole(now)
    redis.call('HSET', key('set_aside'), tbl, since)
    redis.call('HSET', key('set_aside_reasons'), tbl, arg(2))
    forget_tries(tbl)
    if arg(3) ~= '' then
        redis.call('HSET', key('retry_after'), tbl, arg(3))
        wait_for_try(tbl, now)
    end
    show_table(tbl, now)
    return { 'ok' }
end)
