-- arguments: how many
-- Their documents are large, and nobody reads them in a list.
local SHOWN = { 'plan_id', 'table', 'created_at', 'requested_by', 'approved_at', 'approved_by' }
return framed(function()
    local found = {}
    for _, plan_id in ipairs(redis.call('ZREVRANGE', key('plans'), 0, tonumber(arg(1)) - 1)) do
        local row = {}
        for _, name in ipairs(SHOWN) do
            row[#row + 1] = name
            row[#row + 1] = redis.call('HGET', key('plan:' .. plan_id), name) or ''
        end
        found[#found + 1] = row
    end
    return { 'ok', found }
end)
