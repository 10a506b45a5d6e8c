-- arguments: name, document, the revision that is expected there, by whom
return framed(function()
    local policy = key('policy:' .. arg(1))
    if (redis.call('HGET', policy, 'revision') or '') ~= arg(3) then
        return { 'other' }
    end
    local revision = whole(redis.call('INCR', key('policy_revisions')))
    local now = whole(now_us())
    redis.call('HSET', policy, 'name', arg(1), 'revision', revision, 'updated_at', now,
        'updated_by', arg(4), 'document', arg(2))
    redis.call('SADD', key('policies'), arg(1))
    return { 'ok', { arg(1), revision, now, arg(4), arg(2) } }
end)
