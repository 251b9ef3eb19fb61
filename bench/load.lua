-- The load for wrk: the same request over and over, each with its own id.
--
-- wrk ... -s load.lua URL -- REQUEST [VALUES]
--
-- REQUEST is a file with a whole HTTP request. In it, every ID######## is
-- replaced by a number of the same width, and every VALUE# by the next line
-- of the file VALUES (all lines have one length, the placeholder's included).

local parts, values, count = {}, {}, 0

function init(arguments)
  local text = assert(io.open(arguments[1], "rb")):read("*a")
  if arguments[2] then
    for line in io.lines(arguments[2]) do values[#values + 1] = line end
  end
  local position = 1
  while true do
    local first, last, kind = text:find("(%u+)#+", position)
    if not first then break end
    parts[#parts + 1] = text:sub(position, first - 1)
    parts[#parts + 1] = kind
    position = last + 1
  end
  parts[#parts + 1] = text:sub(position)
end

function request()
  count = count + 1
  local filled = {}
  for index, part in ipairs(parts) do
    if index % 2 == 1 then
      filled[index] = part
    elseif part == "ID" then
      filled[index] = tostring(1000000000 + count)
    else
      filled[index] = values[count % #values + 1]
    end
  end
  return table.concat(filled)
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"requests":%d,"seconds":%f,"p50":%f,"p99":%f,"refused":%d,"broken":%d}\n',
    summary.requests, summary.duration / 1e6,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    errors.status, errors.connect + errors.read + errors.write + errors.timeout
  ))
end
