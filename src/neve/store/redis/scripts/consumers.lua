-- argument: table, or '' for all; the server's time, then each table with names and texts in turn
return framed(function()
    local tables, found = { arg(1) }, {}
    if arg(1) == '' then
        tables = redis.call('SMEMBERS', key('consumed_tables'))
    end
    for _, tbl in ipairs(tables) do
        found[#found + 1] = { tbl, redis.call('HGETALL', key('consumers:' .. tbl)) }
    end
    return { 'ok', whole(now_us()), found }
end)
