-- arguments: uuid of the table, its name, job_id, state, then path and orphan as text in turn
-- Returns how many were not on the list of those that wait.
return framed(function()
    local uuid, now, added = arg(1), whole(now_us()), 0
    local waiting = key('quarantine_waiting:' .. uuid)
    for number = 7, #ARGV, 2 do
        local path = ARGV[number]
        if redis.call('HEXISTS', waiting, path) == 0 then
            local entry_id = whole(redis.call('INCR', key('quarantine_seq')))
            redis.call('HSET', key('quarantine:' .. entry_id), 'entry_id', entry_id, 'uuid', uuid,
                'table', arg(2), 'job_id', arg(3), 'path', path, 'orphan', ARGV[number + 1],
                'marked_at', now, 'state', arg(4), 'state_at', now, 'state_reason', '')
            redis.call('HSET', waiting, path, entry_id)
            redis.call('ZADD', key('quarantine_open:' .. uuid), now, entry_id)
            redis.call('ZADD', key('quarantine_of:' .. uuid), entry_id, entry_id)
            added = added + 1
        end
    end
    return { 'ok', whole(added) }
end)
