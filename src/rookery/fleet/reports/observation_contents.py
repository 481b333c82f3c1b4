"""Contents of observations of all kinds, for readers of a spool."""

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from rookery.errors import DecodeError
from rookery.fleet import entry as entries
from rookery.fleet.entry import FleetEntry
from rookery.fleet.reports.security_events import SecurityEvent
from rookery.wire import observation_content
from rookery.wire.observation import ENROLLED, SECURITY

STRUCTS: Mapping[int, type[msgspec.Struct]] = MappingProxyType(
    {**observation_content.STRUCTS, ENROLLED: FleetEntry, SECURITY: SecurityEvent}
)
"""By kind."""

_SECURITY_DECODER = msgspec.msgpack.Decoder(SecurityEvent)


def decode(kind: int, content: bytes) -> msgspec.Struct:
    """Read the content of that kind, or raise DecodeError."""
    if kind == ENROLLED:
        return entries.decode(content)
    if kind != SECURITY:
        return observation_content.decode(kind, content)
    try:
        return _SECURITY_DECODER.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DecodeError(f"not a security event: {error}") from error
