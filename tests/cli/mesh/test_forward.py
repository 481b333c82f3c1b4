"""`rookery forward`: what its words mean; tests/e2e/mesh/test_listeners.py carries data."""

import pytest

from rookery.cli.main import main
from rookery.cli.mesh.forward import parse_forwarding, parse_line
from rookery.errors import UsageError
from rookery.link.channels.sock import SockAddress
from rookery.runtime.node.snapshot import ListenerKind


@pytest.mark.parametrize(
    ("text", "listen", "to", "node"),
    [
        ("80:a.example:8080@bob", ("127.0.0.1", 80), ("a.example", 8080), "bob"),
        ("0:192.0.2.1:80@auto", ("127.0.0.1", 0), ("192.0.2.1", 80), "auto"),
        ("0.0.0.0:80:h:1@bob", ("0.0.0.0", 80), ("h", 1), "bob"),
        ("8:[2001:db8::1]:80@bob", ("127.0.0.1", 8), ("2001:db8::1", 80), "bob"),
        ("[::1]:8:[2001:db8::1]:80@bob", ("::1", 8), ("2001:db8::1", 80), "bob"),
    ],
)
def test_a_forward_says_where_and_through_whom(
    text: str, listen: tuple[str, int], to: tuple[str, int], node: str
) -> None:
    listener = parse_forwarding(text, ListenerKind.TCP)
    assert (listener.listen, listener.to, listener.exit) == (
        SockAddress(*listen),
        SockAddress(*to),
        node,
    )


@pytest.mark.parametrize(
    "text", ["", "80", "80:h:1", "80:h:1@", "80:h@bob", "h:1@bob", "80:h:x@bob", "x:h:1@bob"]
)
def test_anything_else_is_no_forward(text: str) -> None:
    with pytest.raises(UsageError):
        parse_forwarding(text, ListenerKind.TCP)


def test_the_exit_chooses_the_address_of_a_reverse_forward() -> None:
    assert parse_forwarding("80:h:1@bob", ListenerKind.REVERSE).listen.port == 80
    with pytest.raises(UsageError, match="a port only"):
        parse_forwarding("0.0.0.0:80:h:1@bob", ListenerKind.REVERSE)


def test_a_serial_line_has_a_name() -> None:
    listener = parse_line("7000:meter@bob")
    assert (listener.listen, listener.line, listener.exit) == (
        SockAddress("127.0.0.1", 7000),
        "meter",
        "bob",
    )
    for text in ("7000:meter", "meter@bob", "7000@bob", "7000:@bob"):
        with pytest.raises(UsageError):
            parse_line(text)


@pytest.mark.parametrize("words", [[], ["1:h:2@bob", "--udp", "--reverse"]])
def test_too_few_and_too_many_words_are_wrong_usage(words: list[str]) -> None:
    assert main(["forward", *words]) == 2
