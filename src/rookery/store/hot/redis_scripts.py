"""What has to happen in Redis as one: each script runs there without anything in between.

A script may come twice when an answer was lost on the way, so all of them may be repeated.
"""

# An argument for each entry, as few arguments and short answers are what a batch is fast by:
#     | sender 6   | kind 1 | expected version 8 | value: version 8, last seen 8, … |
# Before them the prefix of entries and that of the sets of senders by kind.

# Answers a text with `1` for each that was put, and `0` where another version is held.
PUT = """
local done = {}
for i = 3, #ARGV do
  local item = ARGV[i]
  local sender = string.sub(item, 1, 6)
  local key = ARGV[1] .. sender
  local held = redis.call('GETRANGE', key, 0, 7)
  if held == '' or held == string.sub(item, 8, 15) then
    redis.call('SET', key, string.sub(item, 16))
    if held == '' then redis.call('SADD', ARGV[2] .. string.sub(item, 7, 7), sender) end
    done[i - 2] = '1'
  else
    done[i - 2] = '0'
  end
end
return table.concat(done)
"""

# Keys: the entry, the set of its kind. Arguments: the version it is to have, the sender: one that
# was changed since stays.
REMOVE = """
local held = redis.call('GETRANGE', KEYS[1], 0, 7)
if held ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
redis.call('SREM', KEYS[2], ARGV[2])
return 1
"""

# Takes entries that are missing or older here; answers how many.
RESTORE = """
local count = 0
for i = 3, #ARGV do
  local item = ARGV[i]
  local sender = string.sub(item, 1, 6)
  local key = ARGV[1] .. sender
  local held = redis.call('GETRANGE', key, 8, 15)
  if held == '' or struct.unpack('>d', held) < struct.unpack('>d', string.sub(item, 24, 31)) then
    redis.call('SET', key, string.sub(item, 16))
    redis.call('SADD', ARGV[2] .. string.sub(item, 7, 7), sender)
    count = count + 1
  end
end
return count
"""

# A wish begins with its device and its client, `| mac 6 | length 2 | client |`, as scripts compare.
# Keys: a device's wishes, the wish. Arguments: id, value, client with its length, milliseconds,
# most, prefix of a wish.
ADD_WISH = """
local count = 0
for _, id in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do
  local held = redis.call('GET', ARGV[6] .. id)
  if not held then
    redis.call('LREM', KEYS[1], 0, id)
  elseif string.sub(held, 7, 6 + #ARGV[3]) == ARGV[3] then
    return held
  else
    count = count + 1
  end
end
if count >= tonumber(ARGV[5]) then return false end
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[4])
redis.call('RPUSH', KEYS[1], ARGV[1])
redis.call('PEXPIRE', KEYS[1], math.max(tonumber(ARGV[4]), redis.call('PTTL', KEYS[1])))
return ARGV[2]
"""

# Arguments: the prefix of a device's wishes, that of a wish, and the devices in one text. Answers
# which of them, counted from 0, has which wish: most have none.
OLDEST_WISHES = """
local found = {}
for i = 0, #ARGV[3] / 6 - 1 do
  local key = ARGV[1] .. string.sub(ARGV[3], 6 * i + 1, 6 * i + 6)
  local id = redis.call('LINDEX', key, 0)
  while id and redis.call('EXISTS', ARGV[2] .. id) == 0 do
    redis.call('LPOP', key)
    id = redis.call('LINDEX', key, 0)
  end
  if id then
    found[#found + 1] = i
    found[#found + 1] = id
  end
end
return found
"""

# Key: the wish. Arguments: id, the prefix of a device's wishes.
END_WISH = """
local held = redis.call('GET', KEYS[1])
if held then
  redis.call('LREM', ARGV[2] .. string.sub(held, 1, 6), 0, ARGV[1])
  redis.call('DEL', KEYS[1])
end
return 1
"""

# Keys: the steps, the wish. Arguments: the item, whose first 8 bytes name it, milliseconds, most.
ADD_STEP = """
local items = redis.call('LRANGE', KEYS[1], 0, -1)
for _, item in ipairs(items) do
  if string.sub(item, 1, 8) == string.sub(ARGV[1], 1, 8) then return 1 end
end
if #items >= tonumber(ARGV[3]) then return 0 end
redis.call('RPUSH', KEYS[1], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2] + math.max(redis.call('PTTL', KEYS[2]), 0))
redis.call('PUBLISH', KEYS[1], '')
return 1
"""

# Key: what is taken. Arguments: the holder's token, milliseconds.
TAKE = """
local held = redis.call('GET', KEYS[1])
if held then return held == ARGV[1] and 1 or 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
"""

# Key: what was taken. Argument: the store that may give it back.
RELEASE = """
local held = redis.call('GET', KEYS[1])
if held and string.sub(held, 1, #ARGV[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 1
"""

# Key: a server's reservations. Arguments: the seat, milliseconds.
RESERVE = """
local now = redis.call('TIME')
local until_ms = now[1] * 1000 + math.floor(now[2] / 1000) + ARGV[2]
redis.call('ZADD', KEYS[1], until_ms, ARGV[1])
redis.call('PEXPIRE', KEYS[1], math.max(tonumber(ARGV[2]), redis.call('PTTL', KEYS[1])))
return 1
"""

# Key: a server's reservations.
RESERVED = """
local now = redis.call('TIME')
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now[1] * 1000 + math.floor(now[2] / 1000))
return redis.call('ZCARD', KEYS[1])
"""
