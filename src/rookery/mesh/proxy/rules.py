"""Who may have which connection made by us: the rules of `sock`, and those for serial lines.

    [connect] tcp|udp TARGET:PORTS [from HASHNAME]      as in `rookery.link.channels.sock_rules`
    bind tcp ADDRESS:PORTS [from HASHNAME]
    serial NAME|* [from HASHNAME]

Default deny. `from` means the far end of the tunnel, not the relays in between.
"""

from collections.abc import Sequence

import msgspec

from rookery.errors import DeniedError, UsageError
from rookery.identity.hashname import is_hashname
from rookery.link.channels.sock_rules import Rules, SockRule
from rookery.mesh.proxy.exit_class import classes
from rookery.mesh.proxy.opening import is_name

RULES_MAX = 1024


class SerialRule(msgspec.Struct, frozen=True):
    name: str  # "*" = every line we know
    member: str | None

    @classmethod
    def parse(cls, line: str) -> "SerialRule":
        words = line.split()
        if len(words) not in (2, 4) or words[2:3] not in ([], ["from"]):
            raise UsageError(f"rule {line!r} is not of the form 'serial NAME [from HASHNAME]'")
        if words[1] != "*" and not is_name(words[1]):
            raise UsageError(f"rule {line!r}: {words[1]!r} is not the name of a serial line")
        if len(words) == 4 and not is_hashname(words[3]):
            raise UsageError(f"rule {line!r}: {words[3]!r} is not a hashname")
        return cls(words[1], words[3] if len(words) == 4 else None)

    def allows(self, name: str, member: str) -> bool:
        return self.name in ("*", name) and self.member in (None, member)

    def __str__(self) -> str:
        return f"serial {self.name}" + (f" from {self.member}" if self.member else "")


class ProxyRules:
    """All permissions of one exit; without any, everything is denied."""

    def __init__(self, net: Sequence[SockRule] = (), serial: Sequence[SerialRule] = ()) -> None:
        if len(net) + len(serial) > RULES_MAX:
            raise UsageError(f"more than {RULES_MAX} rules")
        self.net = Rules(net)
        self._net = tuple(net)
        self._serial = tuple(serial)

    @classmethod
    def parse(cls, lines: Sequence[str]) -> "ProxyRules":
        """One rule a line, or UsageError that says what is wrong with which."""
        serial = [line for line in lines if line.split()[:1] == ["serial"]]
        net = [line for line in lines if line.split()[:1] != ["serial"]]
        return cls(list(map(SockRule.parse, net)), list(map(SerialRule.parse, serial)))

    def check_serial(self, name: str, member: str) -> None:
        """DeniedError unless a rule allows it."""
        if not any(rule.allows(name, member) for rule in self._serial):
            raise DeniedError(f"no rule lets {member[:8]} open serial {name}")

    def services(self, plugged: Sequence[str] = ()) -> tuple[str, ...]:
        """What to tell of ourselves in our record, with these serial lines plugged in."""
        names = [
            name
            for name in plugged
            if any(rule.name in ("*", name) for rule in self._serial) and is_name(name)
        ]
        return classes(self._net, names)

    def __str__(self) -> str:
        return "\n".join(map(str, (*self._net, *self._serial)))
