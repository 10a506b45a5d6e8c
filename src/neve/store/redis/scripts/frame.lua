-- Around every script: names of keys, the version of the layout, answers that were lost.
-- KEYS[1] is {prefix}:layout; every other key has the same hash tag, so that all lie in one slot.
-- ARGV[1] is the layout of the caller, ARGV[2] the id of a request that changes something.
local ANSWER_SECONDS = 120
local PREFIX = string.sub(KEYS[1], 1, -7)

local function key(name)
    return PREFIX .. name
end

local function arg(number)
    return ARGV[number + 2]
end

-- Microseconds need 51 bits: a double holds them, but not every way of writing one does.
local function whole(number)
    return string.format('%.0f', number)
end

local function now_us()
    local time = redis.call('TIME')
    return time[1] * 1000000 + time[2]
end

local function framed(run)
    local layout = redis.call('GET', KEYS[1])
    if layout and (tonumber(layout) or math.huge) > tonumber(ARGV[1]) then
        return { 'newer', layout }
    end
    if ARGV[2] == '' then
        return run()
    end
    local remembered = key('answer:' .. ARGV[2])
    local known = redis.call('GET', remembered)
    if known then
        return cjson.decode(known)
    end
    local answer = run()
    if not layout then
        redis.call('SET', KEYS[1], ARGV[1])
    end
    redis.call('SET', remembered, cjson.encode(answer), 'EX', ANSWER_SECONDS)
    return answer
end
