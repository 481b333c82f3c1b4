"""Messages as they are made, and read again."""

import pytest

from rookery.fleet.rpc.message import (
    BUSY,
    InvalidRpcItem,
    RpcAnswer,
    RpcCall,
    RpcError,
    RpcErrorObject,
    RpcMessage,
    call,
    failure,
    parse,
)


@pytest.mark.parametrize(
    ("made", "read"),
    [
        (call("m"), RpcCall("m")),
        (call("m", [1], 2), RpcCall("m", b"[1]", b"2")),
        (call("m", {"a": None}, "x"), RpcCall("m", b'{"a":null}', b'"x"')),
        (RpcAnswer(b"1", b"[2]").serialize(), RpcAnswer(b"1", b"[2]")),
        (RpcAnswer(b"1", b"null").serialize(), RpcAnswer(b"1", b"null")),
        (RpcAnswer(b"1", error=b"{}").serialize(), RpcAnswer(b"1", error=b"{}")),
    ],
)
def test_what_is_made_is_read_as_it_was_meant(made: bytes, read: RpcCall | RpcAnswer) -> None:
    assert parse(made) == RpcMessage((read,))
    assert parse(b"[%b,%b]" % (made, made)) == RpcMessage((read, read), is_batch=True)


@pytest.mark.parametrize(
    ("fields", "id_"),
    [
        (b'"result":1,"error":{},"id":5', b"5"),
        (b'"result":1', b"null"),
        (b'"id":5', b"5"),
        (b'"result":1,"id":true', b"null"),
    ],
)
def test_an_answer_is_one_thing_or_the_other_and_to_somebody(fields: bytes, id_: bytes) -> None:
    assert parse(b'{"jsonrpc":"2.0",%b}' % fields) == RpcMessage((InvalidRpcItem(id_),))


def test_an_error_tells_what_it_is() -> None:
    error = RpcError(BUSY, data=[1])
    assert str(error) == "Busy (-32002)"
    made = failure(b"1", error)
    assert made.error is not None
    told = RpcErrorObject.parse(made.error)
    assert (told.code, told.message) == (BUSY, "Busy")
    assert str(RpcError(-32050)) == "Server error (-32050)"
    assert str(RpcError(7, "own words")) == "own words (7)"
    with pytest.raises(RpcError, match="Invalid Request"):
        RpcErrorObject.parse(b'{"code":1}')
