"""Rate limits that all gateways keep together, on Redis or Valkey.

Each limited thing is one number: when all that has gone would have gone at the even rate, in microseconds
by the server's clock (the "virtual scheduling" form of the generic cell rate algorithm, ITU-T I.371). It
is a key that ends by itself once nothing of it is left. All keys of one scope carry its hash tag, so one
script sees them in one slot of a cluster, and takes of all of them or of none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from host.coordination.connection import AWAY, Connection
from host.coordination.port import Allowance

_TAKE: Final = """
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local spent, waits, free = {}, {}, true
for i, key in ipairs(KEYS) do
  local interval, burst = tonumber(ARGV[2 * i - 1]), tonumber(ARGV[2 * i])
  spent[i] = tonumber(redis.call('GET', key) or '0')
  waits[i] = math.max(math.ceil(spent[i] - (burst - 1) * interval - now), 0)
  free = free and waits[i] == 0
end
if free then
  for i, key in ipairs(KEYS) do
    local new = math.max(spent[i], now) + tonumber(ARGV[2 * i - 1])
    redis.call('SET', key, string.format('%.0f', new), 'PX', math.ceil((new - now) / 1000))
  end
end
return waits
"""
_REST: Final = """
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local new = now + tonumber(ARGV[1]) + tonumber(ARGV[2])
if new > tonumber(redis.call('GET', KEYS[1]) or '0') then
  redis.call('SET', KEYS[1], string.format('%.0f', new), 'PX', math.ceil((new - now) / 1000))
end
"""
_MOST_RESTED: Final = 3600.0  # seconds: nothing is refused for longer without being asked again


class RedisRates:
    """Implements `host.coordination.port.Rates`. `key(kind, name)` spells a key of this installation."""

    def __init__(self, connection: Connection, key: Callable[[str, str], str]) -> None:
        self._connection = connection
        self._key = key
        register = connection.client.register_script
        self._take, self._rest = register(_TAKE), register(_REST)

    async def take(self, scope: str, allowances: Sequence[Allowance]) -> tuple[float, ...] | None:
        keys = [self._name(scope, one) for one in allowances]
        numbers = [n for one in allowances for n in (_micros(one.interval), one.burst)]
        answer = await self._call("take", self._take, keys, numbers)
        return None if answer is AWAY else tuple(wait / 1_000_000 for wait in answer)

    async def rest(self, scope: str, allowance: Allowance, seconds: float) -> None:
        until = _micros(min(seconds, _MOST_RESTED))
        held_back = (allowance.burst - 1) * _micros(allowance.interval)
        keys = [self._name(scope, allowance)]
        await self._call("rest", self._rest, keys, [until, held_back])

    async def _call(self, what: str, script: Any, keys: list[str], args: list[int]) -> Any:
        return await self._connection.call(what, lambda: script(keys=keys, args=args))

    def _name(self, scope: str, allowance: Allowance) -> str:
        tag = scope.replace("{", "(").replace("}", ")") or "-"
        return self._key("rate", f"{{{tag}}}:{allowance.name}")


def _micros(seconds: float) -> int:
    return max(1, round(seconds * 1_000_000))
