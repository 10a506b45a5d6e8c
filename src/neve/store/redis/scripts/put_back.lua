-- argument: table
return framed(function()
    local known = redis.call('HDEL', key('set_aside'), arg(1)) == 1
    if known then
        redis.call('HDEL', key('set_aside_reasons'), arg(1))
        redis.call('HDEL', key('failures'), arg(1))
        show_table(arg(1), now_us())
    end
    return { known and 'ok' or 'no' }
end)
