-- arguments: job_id, number, how many
return framed(function()
    local after = '(' .. arg(2)
    return { 'ok', redis.call('ZRANGEBYSCORE', key('events_of:' .. arg(1)), after, '+inf',
        'LIMIT', 0, tonumber(arg(3))) }
end)
