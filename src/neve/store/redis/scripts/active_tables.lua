-- arguments: tables
-- Those with a job that waits or has no end.
return framed(function()
    local found = {}
    for number = 3, #ARGV do
        if redis.call('EXISTS', key('alive_of:' .. ARGV[number])) == 1 then
            found[#found + 1] = ARGV[number]
        end
    end
    return { 'ok', found }
end)
