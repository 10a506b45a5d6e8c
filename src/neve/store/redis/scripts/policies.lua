-- Each policy: name, revision, when and by whom it was changed, document.
return framed(function()
    local found, names = {}, redis.call('SMEMBERS', key('policies'))
    for number, name in ipairs(names) do
        found[number] = redis.call('HMGET', key('policy:' .. name), 'name', 'revision',
            'updated_at', 'updated_by', 'document')
    end
    return { 'ok', found }
end)
