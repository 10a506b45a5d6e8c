-- arguments: table, job_id, paths
-- A path keeps the job that was recorded first.
return framed(function()
    local now = whole(now_us())
    for number = 5, #ARGV do
        if redis.call('HSETNX', key('leftovers:' .. arg(1)), ARGV[number], arg(2)) == 1 then
            redis.call('ZADD', key('leftovers_by_age:' .. arg(1)), now, ARGV[number])
        end
    end
    return { 'ok' }
end)
