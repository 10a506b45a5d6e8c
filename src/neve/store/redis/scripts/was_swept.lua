-- argument: uuid of the table
return framed(function()
    return { redis.call('EXISTS', key('sweep:' .. arg(1))) == 1 and 'ok' or 'no' }
end)
