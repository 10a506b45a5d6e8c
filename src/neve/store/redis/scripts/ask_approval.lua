-- arguments: approval_id, digest of the request, document, state, when, how long one is valid
return framed(function()
    local latest = redis.call('HGET', key('approval_of'), arg(2))
    if latest then
        local row = redis.call('HMGET', key('approval:' .. latest),
            'document', 'state', 'decided_by', 'created_at')
        local is_open = row[2] == 'pending' or row[2] == 'approved'
        if is_open and tonumber(row[4]) > tonumber(arg(5)) - tonumber(arg(6)) then
            return { 'known', row[1], row[2], row[3] }
        end
    end
    redis.call('HSET', key('approval:' .. arg(1)), 'document', arg(3), 'state', arg(4),
        'decided_by', '', 'created_at', arg(5))
    redis.call('HSET', key('approval_of'), arg(2), arg(1))
    redis.call('RPUSH', key('approvals'), arg(1))
    return { 'ok' }
end)
