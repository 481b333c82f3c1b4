"""Statements as bytes: their shape, and nothing about whether to believe them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError
from rookery.wire.mesh.statement import (
    CERTIFICATE,
    CONTENT_SIZE_MAX,
    KINDS,
    RECORD,
    REVOCATION,
    STATEMENT_SIZE_MAX,
    Statement,
    to_sign,
)

REALM = bytes(range(8))
SIGNATURE = bytes(range(64))
STATEMENT = Statement(RECORD, REALM, b"content", SIGNATURE)


def test_the_bytes_are_version_kind_realm_content_signature() -> None:
    assert STATEMENT.serialize() == b"\x01\x02" + REALM + b"content" + SIGNATURE
    assert Statement.parse(STATEMENT.serialize()) == STATEMENT


def test_the_signature_covers_a_label_and_everything_before_it() -> None:
    assert STATEMENT.signed == b"rookery statement" + STATEMENT.serialize()[:-64]
    assert STATEMENT.signed == to_sign(RECORD, REALM, b"content")


def test_the_kinds_have_their_numbers() -> None:
    assert (CERTIFICATE, RECORD, REVOCATION) == (1, 2, 3)


def test_the_largest_statement_is_read_and_one_byte_more_is_not() -> None:
    largest = Statement(RECORD, REALM, bytes(CONTENT_SIZE_MAX), SIGNATURE).serialize()
    assert len(largest) == STATEMENT_SIZE_MAX
    assert Statement.parse(largest).content == bytes(CONTENT_SIZE_MAX)
    with pytest.raises(DecodeError, match="cannot be a statement"):
        Statement.parse(largest + b"\0")


def test_a_statement_may_be_empty_but_not_shorter() -> None:
    smallest = Statement(RECORD, REALM, b"", SIGNATURE).serialize()
    assert Statement.parse(smallest).content == b""
    with pytest.raises(DecodeError, match="cannot be a statement"):
        Statement.parse(smallest[:-1])


def test_another_version_is_refused() -> None:
    with pytest.raises(DecodeError, match="version 2"):
        Statement.parse(b"\x02" + STATEMENT.serialize()[1:])


@pytest.mark.parametrize("kind", [0, 4, 255])
def test_an_unknown_kind_is_refused(kind: int) -> None:
    data = STATEMENT.serialize()
    with pytest.raises(DecodeError, match=f"unknown kind {kind}"):
        Statement.parse(data[:1] + bytes((kind,)) + data[2:])


@given(
    st.sampled_from(sorted(KINDS)),
    st.binary(min_size=8, max_size=8),
    st.binary(max_size=CONTENT_SIZE_MAX),
    st.binary(min_size=64, max_size=64),
)
def test_every_statement_survives_the_wire(
    kind: int, realm: bytes, content: bytes, signature: bytes
) -> None:
    statement = Statement(kind, realm, content, signature)
    assert Statement.parse(statement.serialize()) == statement


@given(st.binary(max_size=256))
def test_arbitrary_bytes_are_a_statement_or_a_decode_error(data: bytes) -> None:
    for candidate in (data, b"\x01\x02" + data):
        try:
            statement = Statement.parse(candidate)
        except DecodeError:
            continue
        assert statement.serialize() == candidate
