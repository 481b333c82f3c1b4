"""Reception: what a peer that has proved its name at the hub's TCP port came for.

ASK           a router, for a wish                    the matchmaker
HOLD, RENEW   a server, for leases of its seats       the lease desk
CERTIFY       a server, for a certificate of its TLS  the hub's authority
"""

import asyncio

from rookery.errors import CongestionError, DecodeError, DeniedError, UnreachableError
from rookery.hub.certifying import Certifying
from rookery.hub.lease_desk import LeaseDesk
from rookery.hub.matchmaker import Matchmaker
from rookery.runtime.sealed_line import SealedLine
from rookery.wire import fleet_messages as messages
from rookery.wire.fleet_messages import Ask, Certify, Fault, FaultCode, Hold, Renew

_TEXT_SIZE_MAX = 200


class Reception:
    """`attend` is what the door calls; the connection may be closed when it returns."""

    def __init__(
        self, matchmaker: Matchmaker, leases: LeaseDesk, certifying: Certifying, idle_s: float
    ) -> None:
        self._matchmaker = matchmaker
        self._leases = leases
        self._certifying = certifying
        self._idle_s = idle_s

    async def attend(self, line: SealedLine) -> None:
        try:
            fault = await self._attend(line)
        except TimeoutError:
            fault = Fault(FaultCode.BUSY, "this took too long")
        except DecodeError as error:
            fault = _fault(FaultCode.PROTOCOL, error)
        except DeniedError as error:
            fault = _fault(FaultCode.DENIED, error)
        except CongestionError as error:
            fault = _fault(FaultCode.BUSY, error)
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
            case Certify() as asked:
                async with asyncio.timeout(self._idle_s):
                    line.send(messages.encode(await self._certifying.certify(line, asked)))
                return None
            case other:
                raise DecodeError(
                    f"a conversation with a hub does not begin with {type(other).__name__}"
                )


def _fault(code: FaultCode, error: Exception) -> Fault:
    return Fault(code, str(error)[:_TEXT_SIZE_MAX])
