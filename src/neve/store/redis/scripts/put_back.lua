-- argument: table
return framed(function()
    return { put_back(arg(1), now_us()) and 'ok' or 'no' }
end)
