"""Exit codes and the one line that an error is."""

import pytest

from rookery.cli.terminal.exit_codes import advice, complain, exit_code, served_by
from rookery.errors import (
    AuthenticationError,
    ChannelError,
    CongestionError,
    DecodeError,
    DeniedError,
    RookeryError,
    UnreachableError,
    UsageError,
)


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (UsageError, 2),
        (UnreachableError, 3),
        (ChannelError, 3),
        (CongestionError, 3),
        (DecodeError, 3),
        (DeniedError, 4),
        (AuthenticationError, 4),
    ],
)
def test_each_kind_of_error_has_its_code(kind: type[RookeryError], code: int) -> None:
    assert exit_code(kind("x")) == code


def test_an_error_is_one_line_whatever_it_holds(capsys: pytest.CaptureFixture[str]) -> None:
    complain("first\nsecond\r\n  third")
    assert capsys.readouterr().err == "rookery: first second third\n"


def test_advice_keeps_the_kind_of_error() -> None:
    with pytest.raises(DeniedError, match=r"^no; ask first$"), advice("ask first"):
        raise DeniedError("no")


def test_what_a_peer_does_not_serve_is_denied() -> None:
    with pytest.raises(DeniedError, match="--echo"), served_by("bob", "--echo"):
        raise ChannelError("unknown type")
    with pytest.raises(ChannelError, match="bob: link down"), served_by("bob", "--echo"):
        raise ChannelError("link down")
