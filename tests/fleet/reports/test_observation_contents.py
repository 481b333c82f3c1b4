"""P2: observations of every kind can be read."""

from contextlib import suppress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError
from rookery.fleet import entry as entries
from rookery.fleet.entry import FleetEntry
from rookery.fleet.reports import observation_contents
from rookery.fleet.reports.security_events import SecurityEvent
from rookery.wire import observation as observations
from rookery.wire import observation_content
from rookery.wire.observation_content import LinkSample

ENTRY = FleetEntry(bytes(6), "router", "h", b"key", b"digest", 1, 2, 3, 4, 5.0, 6.0)
EVENT = SecurityEvent("clone", bytes(6), "192.0.2.1:4000", "two of them")
SAMPLE = LinkSample(t=1, realm="r", node="a", peer="b", is_up=False)


def test_each_kind_is_read_as_its_struct_p2() -> None:
    assert sorted(observation_contents.STRUCTS) == list(range(1, 12))
    for kind, content, said in (
        (observations.ENROLLED, entries.encode(ENTRY), ENTRY),
        (observations.SECURITY, msgspec.msgpack.encode(EVENT), EVENT),
        (observations.LINK, observation_content.encode(SAMPLE), SAMPLE),
    ):
        read = observation_contents.decode(kind, content)
        assert type(read) is observation_contents.STRUCTS[kind]
        assert msgspec.to_builtins(read) == msgspec.to_builtins(said)


def test_a_security_event_is_spooled_under_the_names_it_always_had_p2() -> None:
    names = msgspec.msgpack.decode(msgspec.msgpack.encode(EVENT)).keys()
    assert list(names) == ["kind", "reporter", "address", "detail"]


@given(st.integers(0, 255), st.binary(max_size=100))
def test_arbitrary_bytes_are_read_or_raise_decode_error_p2(kind: int, data: bytes) -> None:
    with suppress(DecodeError):
        observation_contents.decode(kind, data)


def test_what_is_no_security_event_is_refused_p2() -> None:
    with pytest.raises(DecodeError, match="not a security event"):
        observation_contents.decode(observations.SECURITY, b"\x80")


def test_text_that_is_none_is_refused_p2() -> None:
    for kind, content in (
        (observations.ENROLLED, entries.encode(ENTRY).replace(b"\xa1h", b"\xa1\xff")),
        (observations.SECURITY, msgspec.msgpack.encode(EVENT).replace(b"192", b"\xff92")),
        (observations.LINK, observation_content.encode(SAMPLE).replace(b"\xa1r", b"\xa1\xff")),
    ):
        with pytest.raises(DecodeError, match="utf-8"):
            observation_contents.decode(kind, content)
