-- argument: name of the sorted set of open jobs, of one table or of all
-- Ids of those that began, have no end, and are not running now.
return framed(function()
    local found, now = {}, now_us()
    for _, job_id in ipairs(redis.call('ZRANGE', key(arg(1)), 0, -1)) do
        if not is_running(job_id, fields(job_id, 'table')[1], now) then
            found[#found + 1] = job_id
        end
    end
    return { 'ok', found }
end)
