-- arguments: an approval_id, or '' and how many of the newest
return framed(function()
    local wanted, found = { arg(1) }, {}
    if arg(1) == '' then
        wanted = redis.call('LRANGE', key('approvals'), -tonumber(arg(2)), -1)
    end
    for place = #wanted, 1, -1 do
        local row = redis.call('HMGET', key('approval:' .. wanted[place]),
            'document', 'state', 'decided_by')
        if row[1] then
            found[#found + 1] = row
        end
    end
    return { 'ok', found }
end)
