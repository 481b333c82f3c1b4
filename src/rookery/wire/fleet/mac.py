"""MAC addresses: the six bytes that identify a device, and how people write them.

02:fc:00:00:00:01    02-FC-00-00-00-01    02fc.0000.0001    02fc00000001
"""

import re

from rookery.errors import DecodeError

MAC_SIZE = 6

_FORMS = re.compile(
    r"(?:[0-9a-f]{2}:){5}[0-9a-f]{2}|(?:[0-9a-f]{2}-){5}[0-9a-f]{2}"
    r"|(?:[0-9a-f]{4}\.){2}[0-9a-f]{4}|[0-9a-f]{12}"
)
_SEPARATORS = str.maketrans("", "", ":-.")
_GROUP_BIT = 0x01


def parse_mac(text: str) -> bytes:
    """Read the MAC address of a device in any of its usual forms, or raise DecodeError."""
    lower = text.strip().lower()
    if not _FORMS.fullmatch(lower):
        raise DecodeError(f"{text[:40]!r} is no MAC address; write it as in 02:fc:00:00:00:01")
    mac = bytes.fromhex(lower.translate(_SEPARATORS))
    if mac[0] & _GROUP_BIT or not any(mac):
        raise DecodeError(f"{text[:40]!r} is not the MAC address of one device")
    return mac


def mac_text(mac: bytes) -> str:
    """`02:fc:00:00:00:01`."""
    assert len(mac) == MAC_SIZE
    return mac.hex(":")
