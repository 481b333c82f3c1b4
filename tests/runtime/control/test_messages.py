"""Lines of the control socket: what is a request, what is an answer, and what is neither."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import (
    AuthenticationError,
    CongestionError,
    DecodeError,
    DeniedError,
    RookeryError,
    UnreachableError,
    UsageError,
)
from rookery.link.channels.sock import SockAddress
from rookery.mesh.proxy.credentials import ProxyCredentials
from rookery.runtime.control.messages import (
    ControlCommand,
    ControlEnd,
    ControlErrorCode,
    ControlRequest,
    ListenerRequest,
    answer_line,
    end_of,
    error_of,
    parse_answer,
    parse_request,
    request_line,
)
from rookery.runtime.node.snapshot import ListenerKind, Row
from tests.runtime.colony import BOB_PEER, CHECKS, COUNTERS, ROUTES, STATUS

LISTENER = ListenerRequest(
    kind=ListenerKind.SOCKS,
    exit="auto",
    listen=SockAddress("127.0.0.1", 1080),
    credentials=ProxyCredentials("user", "secret"),
)


@pytest.mark.parametrize("do", ControlCommand)
def test_a_request_is_read_as_it_was_written(do: ControlCommand) -> None:
    request = ControlRequest(
        do=do, node="bob", timeout_s=1.5, probes=2, listeners=(LISTENER,), service="files"
    )
    line = request_line(request)
    assert line.count(b"\n") == 1
    assert json.loads(line)["v"] == 1
    assert parse_request(line) == request


def test_a_request_needs_no_more_than_its_version_and_kind() -> None:
    assert parse_request(b'{"v":1,"do":"status","later":"ignored"}') == ControlRequest(
        do=ControlCommand.STATUS
    )


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"", ControlErrorCode.BAD_REQUEST),
        (b"status", ControlErrorCode.BAD_REQUEST),
        (b"[]", ControlErrorCode.BAD_REQUEST),
        (b'{"do":"status"}', ControlErrorCode.BAD_REQUEST),
        (b'{"v":2,"do":"no matter"}', ControlErrorCode.UNKNOWN_VERSION),
        (b'{"v":1,"do":"reboot"}', ControlErrorCode.BAD_REQUEST),
        (b'{"v":1}', ControlErrorCode.BAD_REQUEST),
        (b'{"v":1,"do":"ping","node":7}', ControlErrorCode.BAD_REQUEST),
        (b'{"v":1,"do":"ping","timeout_s":0}', ControlErrorCode.BAD_REQUEST),
        (b'{"v":1,"do":"ping","timeout_s":1e9}', ControlErrorCode.BAD_REQUEST),
        (b'{"v":1,"do":"trace","probes":1000}', ControlErrorCode.BAD_REQUEST),
        (b'{"v":1,"do":"doors"}', ControlErrorCode.BAD_REQUEST),
        (b'{"v":1,"do":"doors","doors":[{"kind":"trap"}]}', ControlErrorCode.BAD_REQUEST),
        (b'{"v":1,"do":"stream","node":"bob"}', ControlErrorCode.BAD_REQUEST),
        (b'{"v":1,"do":"stream","service":"x","meta":[]}', ControlErrorCode.BAD_REQUEST),
        (b'{"v":1,"do":"stream","service":"' + b"x" * 256 + b'"}', ControlErrorCode.BAD_REQUEST),
        (b'{"v":1,"do":"bench","seconds":0}', ControlErrorCode.BAD_REQUEST),
        (b'{"v":1,"do":"bench","seconds":61}', ControlErrorCode.BAD_REQUEST),
        (b'{"v":1,"do":"bench","bytes":0}', ControlErrorCode.BAD_REQUEST),
        (b'{"v":1,"do":"ping","node":"' + b"x" * 65 + b'"}', ControlErrorCode.BAD_REQUEST),
        (b'{"v":1,"do":"\xff"}', ControlErrorCode.BAD_REQUEST),
        (b"[" * 5000, ControlErrorCode.BAD_REQUEST),
    ],
)
def test_what_is_no_request_is_refused_with_a_code(line: bytes, code: ControlErrorCode) -> None:
    end = parse_request(line)
    assert isinstance(end, ControlEnd)
    assert (end.ok, end.code) == (False, code)
    assert end.error


@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_a_request_or_refused(line: bytes) -> None:
    assert isinstance(parse_request(line), ControlRequest | ControlEnd)


@given(st.binary(max_size=200))
def test_arbitrary_answers_are_rows_or_a_decode_error(line: bytes) -> None:
    try:
        parse_answer(line)
    except DecodeError:
        return


@pytest.mark.parametrize("row", [STATUS, BOB_PEER, *ROUTES, COUNTERS, *CHECKS, ControlEnd()])
def test_an_answer_is_read_as_it_was_written(row: Row | ControlEnd) -> None:
    line = answer_line(row)
    assert line.endswith(b"\n")
    assert line.startswith(b'{"v":1,"is":"')
    assert parse_answer(line) == row


def test_fields_of_a_later_program_are_ignored() -> None:
    assert parse_answer(b'{"v":1,"is":"end","ok":true,"took_ms":3}\n') == ControlEnd()


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (UsageError("x"), ControlErrorCode.BAD_REQUEST, UsageError),
        (UnreachableError("x"), ControlErrorCode.UNREACHABLE, UnreachableError),
        (DeniedError("x"), ControlErrorCode.DENIED, DeniedError),
        (CongestionError("x"), ControlErrorCode.BUSY, CongestionError),
        (AuthenticationError("x"), ControlErrorCode.FAILED, UnreachableError),
    ],
)
def test_an_error_keeps_its_kind_over_the_socket(
    error: RookeryError, code: ControlErrorCode, told: type[RookeryError]
) -> None:
    end = end_of(error)
    assert end == ControlEnd(False, code, "x")
    assert type(error_of(end)) is told


@pytest.mark.parametrize(
    "code",
    [
        ControlErrorCode.UNKNOWN_NODE,
        ControlErrorCode.AMBIGUOUS_NODE,
        ControlErrorCode.UNKNOWN_VERSION,
    ],
)
def test_what_was_asked_wrongly_is_the_users_to_mend(code: ControlErrorCode) -> None:
    assert isinstance(error_of(ControlEnd(False, code, "x")), UsageError)


def test_a_password_does_not_show() -> None:
    assert "secret" not in repr(ControlRequest(do=ControlCommand.LISTENERS, listeners=(LISTENER,)))
    assert (
        "secret"
        in request_line(ControlRequest(do=ControlCommand.LISTENERS, listeners=(LISTENER,))).decode()
    )
