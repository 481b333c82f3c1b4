"""P5: what an analysis learned travels in a shape that hostile bytes cannot bend."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError
from rookery.wire.artifact import (
    ADVICE,
    ARTIFACT_SIZE_MAX,
    FORECAST,
    LIFETIME_MAX_MS,
    MAGIC,
    SIGNATURE_SIZE,
    Artifact,
)

KEY, SIGNATURE = bytes(range(64)), bytes(SIGNATURE_SIZE)


def artifact(body: bytes = b"body", **changed: int) -> Artifact:
    times = {"issued_ms": 1_000, "expires_ms": 2_000, **changed}
    return Artifact(
        FORECAST, times["issued_ms"], times["expires_ms"], KEY, {0x3A: bytes(32)}, body, SIGNATURE
    )


@given(
    kind=st.sampled_from((FORECAST, ADVICE)),
    issued_ms=st.integers(0, 2**53),
    lifetime_ms=st.integers(1, LIFETIME_MAX_MS),
    intermediates=st.dictionaries(
        st.integers(1, 255).filter(lambda csid: csid != 0x40),
        st.binary(min_size=32, max_size=32),
        max_size=7,
    ),
    body=st.binary(max_size=300),
)
def test_what_was_written_is_read_again(
    kind: int, issued_ms: int, lifetime_ms: int, intermediates: dict[int, bytes], body: bytes
) -> None:
    written = Artifact(
        kind, issued_ms, issued_ms + lifetime_ms, KEY, intermediates, body, SIGNATURE
    )
    assert Artifact.parse(written.serialize()) == written


@given(st.binary(max_size=400))
def test_arbitrary_bytes_parse_or_raise_decode_error(data: bytes) -> None:
    for attempt in (data, artifact().serialize()[: len(data)], MAGIC + b"\x01\x01" + data):
        try:
            read = Artifact.parse(attempt)
        except DecodeError:
            continue
        assert read.serialize() == attempt


@given(at=st.integers(0, 200), value=st.integers(0, 255))
def test_a_changed_byte_is_refused_or_changes_what_was_signed(at: int, value: int) -> None:
    whole = bytearray(artifact(bytes(40)).serialize())
    if at >= len(whole) - SIGNATURE_SIZE or whole[at] == value:
        return
    before = Artifact.parse(bytes(whole)).signed
    whole[at] = value
    with suppress(DecodeError):
        assert Artifact.parse(bytes(whole)).signed != before


@pytest.mark.parametrize(
    ("at", "value", "reason"),
    [
        (0, 1, "begins otherwise"),
        (4, 9, "version 9"),
        (5, 0, "unknown kind 0"),
        (86, 8, "cut short"),
        (87, 0x40, "cipher set 40"),
        (87, 0, "cipher set 40"),
    ],
)
def test_it_says_what_is_wrong(at: int, value: int, reason: str) -> None:
    whole = bytearray(artifact().serialize())
    whole[at] = value
    with pytest.raises(DecodeError, match=reason):
        Artifact.parse(bytes(whole))


@pytest.mark.parametrize("lifetime_ms", [-1, 0, LIFETIME_MAX_MS + 1])
def test_a_lifetime_is_neither_empty_nor_longer_than_two_weeks(lifetime_ms: int) -> None:
    with pytest.raises(DecodeError, match="lifetime"):
        Artifact.parse(artifact(expires_ms=1_000 + lifetime_ms).serialize())


def test_its_size_is_bounded() -> None:
    room = ARTIFACT_SIZE_MAX - len(artifact(b"").serialize())
    assert Artifact.parse(artifact(bytes(room)).serialize()).body == bytes(room)
    with pytest.raises(DecodeError, match="cannot be an artifact"):
        Artifact.parse(artifact(bytes(room + 1)).serialize())
