-- arguments: ids of jobs
return framed(function()
    local found = {}
    for number = 3, #ARGV do
        local job = redis.call('HGETALL', job_key(ARGV[number]))
        if #job > 0 then
            found[#found + 1] = job
        end
    end
    return { 'ok', found }
end)
