"""Why a proxied connection came to nothing, or to an end: one word, and one number.

The word stands in an answer, before anything was connected. The number is the code with which a
stream is aborted later, when there is no answer any more.
"""

from enum import StrEnum

from rookery.errors import CongestionError, DeniedError, LocalError, UnreachableError, UsageError


class ProxyFault(StrEnum):
    REFUSED = "refused"
    UNREACHABLE = "unreachable"
    DNS = "dns"
    POLICY = "policy"  # also for what a rule hides: strangers get no reasons
    TIMEOUT = "timeout"
    GONE = "gone"  # was there, and broke off or was unplugged
    BUSY = "busy"
    INVALID = "invalid"
    IN_USE = "in use"

    @property
    def code(self) -> int:
        return _CODES[self]

    @classmethod
    def of_code(cls, code: int) -> "ProxyFault":
        """The fault of an aborted stream; an unknown code counts as GONE."""
        return _FAULTS.get(code, ProxyFault.GONE)

    @property
    def is_the_exits(self) -> bool:
        """Whether another target would fare no better at the same exit."""
        return self is ProxyFault.BUSY

    def error(self, wanted: object) -> LocalError:
        """The same as the caller of a connector hears it."""
        match self:
            case ProxyFault.POLICY:
                return DeniedError(f"{wanted}: no rule allows it")
            case ProxyFault.BUSY:
                return CongestionError(f"{wanted}: too many connections are open")
            case ProxyFault.INVALID:
                return UsageError(f"{wanted}: nobody can connect to that")
            case _:
                return ProxyConnectError(self, wanted)


_CODES = {fault: number for number, fault in enumerate(ProxyFault, 1)}
_FAULTS = {number: fault for fault, number in _CODES.items()}


class ProxyConnectError(UnreachableError):
    """Allowed and tried, in vain; says what it was that failed."""

    def __init__(self, fault: ProxyFault, wanted: object) -> None:
        super().__init__(f"{wanted}: {fault}")
        self.fault = fault


def fault_of(error: LocalError) -> ProxyFault:
    """What to tell another about an error of ours."""
    match error:
        case ProxyConnectError(fault=fault):
            return fault
        case DeniedError():
            return ProxyFault.POLICY
        case CongestionError():
            return ProxyFault.BUSY
        case UsageError():
            return ProxyFault.INVALID
        case _:
            return ProxyFault.UNREACHABLE
