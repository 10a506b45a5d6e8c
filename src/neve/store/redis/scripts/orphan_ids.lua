-- arguments: uuid of the table, microseconds that an open entry has waited, or '' for all entries
return framed(function()
    if arg(2) == '' then
        return { 'ok', redis.call('ZRANGE', key('quarantine_of:' .. arg(1)), 0, -1) }
    end
    local latest = whole(now_us() - tonumber(arg(2)))
    local open = key('quarantine_open:' .. arg(1))
    return { 'ok', redis.call('ZRANGEBYSCORE', open, '-inf', latest) }
end)
