-- arguments: job_id, table, idempotency key or '', then fields and values of the request
return framed(function()
    local meant = submit(arg(1), arg(2), arg(3), now_us(), { unpack(ARGV, 6) })
    if not meant then
        return { 'no room' }
    end
    return { 'ok', redis.call('HGETALL', job_key(meant)) }
end)
