-- Sends the requests of a file, separated by NUL characters, in turn.
local requests = {}
local place = 0

function init(arguments)
    local file = assert(io.open(arguments[1], "rb"))
    for request in (file:read("*a") .. "\0"):gmatch("(.-)%z") do
        requests[#requests + 1] = request
    end
    file:close()
end

function request()
    place = place % #requests + 1
    return requests[place]
end
