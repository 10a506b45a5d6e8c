-- What time it is here, in microseconds.
return framed(function()
    return { 'ok', whole(now_us()) }
end)
