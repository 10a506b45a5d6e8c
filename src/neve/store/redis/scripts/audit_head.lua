-- no arguments
return framed(function()
    local head = redis.call('HMGET', key('audit_head'), 'number', 'digest')
    return { 'ok', head[1] or '0', head[2] or '' }
end)
