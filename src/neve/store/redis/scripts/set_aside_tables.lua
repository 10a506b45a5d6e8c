-- Each table with its time, its reason, its failures in a row, and when it is tried.
return framed(function()
    local found, set_aside = {}, redis.call('HGETALL', key('set_aside'))
    for number = 1, #set_aside, 2 do
        local tbl = set_aside[number]
        found[#found + 1] = { tbl, set_aside[number + 1],
            redis.call('HGET', key('set_aside_reasons'), tbl) or '',
            redis.call('HGET', key('failures'), tbl) or '0',
            redis.call('HGET', key('retry_at'), tbl) or '' }
    end
    return { 'ok', found }
end)
