"""F2: entries, as stores keep them."""

import pytest

from rookery.errors import DecodeError
from rookery.fleet import entry as entries
from rookery.fleet.entry import FleetEntry, is_device_id, server_id
from rookery.wire import base32

ENTRY = FleetEntry(
    sender=b"\x02\xfc\x00\x00\x00\x01",
    kind="router",
    hashname=base32.encode(bytes(range(32))),
    key=bytes(64),
    digest=bytes(32),
    generation=2**32 - 1,
    boot=2**63 - 1,
    sequence=2**63 - 1,
    window=2**63 - 1,
    first_seen=1.5,
    last_seen=2.5,
    address="192.0.2.1:4000",
    content=b"content",
)


def test_an_entry_survives_a_store_f2() -> None:
    assert entries.decode(entries.encode(ENTRY)) == ENTRY


def test_an_entry_of_before_there_were_more_fields_is_read_f2() -> None:
    old = FleetEntry(b"router", "server", "name", b"", b"", 1, 2, 3, 4, 5.0, 6.0)
    data = entries.encode(old)
    assert data[:3] == b"\xdc\x00\x11"
    shorter = b"\x9b" + data[3:].removesuffix(b"\xa0\xc4\x00\x00\x00\x00\xcb" + bytes(8))
    assert entries.decode(shorter) == old


@pytest.mark.parametrize("data", [b"", b"\x90", b"\xc0", b"\xdc\x00\x11"])
def test_what_is_no_entry_is_refused(data: bytes) -> None:
    with pytest.raises(DecodeError):
        entries.decode(data)


def test_no_device_has_the_id_of_a_server_f5() -> None:
    for first in (0, 1, 254, 255):
        raw = bytes((first,)) + bytes(range(1, 32))
        made = server_id(base32.encode(raw))
        assert made == bytes((first | 1,)) + raw[1:6]
        assert not is_device_id(made)
    assert is_device_id(ENTRY.sender)
    assert not is_device_id(bytes(6))
