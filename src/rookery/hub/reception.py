"""Reception: what somebody who has proved a name at the hub's TCP port came for.

ASK           a router, for a wish              the matchmaker
HOLD, RENEW   a server, for leases of its seats the lease desk
"""

import asyncio

from rookery.errors import DecodeError, UnreachableError
from rookery.hub.lease_desk import LeaseDesk
from rookery.hub.matchmaker import Matchmaker
from rookery.runtime.sealed_line import SealedLine
from rookery.wire import fleet_messages as messages
from rookery.wire.fleet_messages import Ask, Fault, FaultCode, Hold, Renew


class Reception:
    """`attend` is what the door calls; the connection may be closed when it returns."""

    def __init__(self, matchmaker: Matchmaker, leases: LeaseDesk, idle_s: float) -> None:
        self._matchmaker = matchmaker
        self._leases = leases
        self._idle_s = idle_s

    async def attend(self, line: SealedLine) -> None:
        try:
            fault = await self._attend(line)
        except TimeoutError:
            fault = Fault(FaultCode.BUSY, "this took too long")
        except DecodeError as error:
            fault = Fault(FaultCode.PROTOCOL, str(error)[:200])
        except UnreachableError:
            fault = Fault(FaultCode.BUSY, "a store of the hub does not answer")
        if fault is not None:
            self._matchmaker.tally[f"fault_{fault.code}"] += 1
            line.send(messages.encode(fault))

    async def _attend(self, line: SealedLine) -> Fault | None:
        async with asyncio.timeout(self._idle_s):
            tlv = await line.receive()
        if tlv is None:
            return None
        match messages.decode(tlv):
            case Ask() as ask:
                async with asyncio.timeout(self._idle_s):
                    return await self._matchmaker.attend(line, ask)
            case Hold() | Renew() as first:
                return await self._leases.attend(line, first)
            case other:
                raise DecodeError(f"nobody begins with {type(other).__name__} at a hub")
