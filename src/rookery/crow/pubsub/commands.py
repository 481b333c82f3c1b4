"""Commands to a broker, in the words and with the answers of the C++ broker.

    clients                 name:ADDRESS node:NODE     one line each
    themes                  name:THEME count_of_subs:N
    theme-names             THEME
    last THEME [N]          the last messages, newest first, one line each
    queue-size THEME N      nothing: the theme remembers N messages from now on

Anything else is answered with nothing, `help` too.
"""

from collections.abc import Iterable, Iterator

from rookery.crow.pubsub.clients import BrokerClients
from rookery.crow.pubsub.orders import BrokerClient
from rookery.crow.pubsub.themes import Theme, Themes
from rookery.errors import UsageError
from rookery.wire.crow import address
from rookery.wire.crow.message import Consume
from rookery.wire.crow.pubsub import parse

ANSWER_SIZE_MAX = 60_000  # leaves room for a reply theme and every header

_ESCAPES = {
    ord("\n"): "\\n",
    ord("\r"): "\\r",
    ord("\t"): "\\t",
    ord("\\"): "\\\\",
}


def readable(data: bytes) -> str:
    """As one line of printable ASCII, other bytes escaped."""
    return "".join(
        _ESCAPES.get(byte) or (chr(byte) if 0x20 <= byte < 0x7F else f"\\x{byte:02X}")
        for byte in data
    )


def client_name(client: BrokerClient) -> str:
    node = "" if client.node is None else f" node:{client.node}"
    return address.format(client.address) + node


def messages(theme: Theme, count: int) -> Iterator[str]:
    """What was published, newest first."""
    for body in theme.latest(count):
        message = parse(body)
        assert isinstance(message, Consume)
        yield readable(message.data)


class BrokerCommands:
    """Answers commands; a wrong one gets a line that says so."""

    def __init__(self, themes: Themes, clients: BrokerClients) -> None:
        self._themes = themes
        self._clients = clients

    def execute(self, command: bytes) -> bytes:
        try:
            return _lines(self._lines(command.split()))
        except UsageError as error:
            return f"{error}\n".encode()

    def _lines(self, words: list[bytes]) -> Iterable[str]:
        match words:
            case [b"clients", *_]:
                return (f"name:{client_name(session.client)}" for session in self._clients)
            case [b"themes", *_]:
                return (
                    f"name:{readable(theme.name)} count_of_subs:{theme.subscribers}"
                    for theme in self._themes
                )
            case [b"theme-names", *_]:
                return (readable(theme.name) for theme in self._themes)
            case [b"last", name, *rest]:
                theme = self._themes.find(name)
                count = _number(rest[0]) if rest else 1
                return messages(theme, count) if theme is not None else ()
            case [b"last"]:
                raise UsageError("Usage: last THEME [SIZE]")
            case [b"queue-size", name, size, *_]:
                theme = self._themes.find(name)
                if theme is not None:
                    self._themes.resize(theme, _number(size))
            case [b"queue-size", *_]:
                raise UsageError("Usage: queue-size THEME SIZE")
        return ()


def _number(word: bytes) -> int:
    if not word.isdigit() or len(word) > 10:
        raise UsageError(f"{readable(word)} is not a number")
    return int(word)


def _lines(lines: Iterable[str]) -> bytes:
    """Lines as one answer; those that do not fit are replaced by three dots."""
    answer = bytearray()
    for line in lines:
        if len(answer) + len(line) + 5 > ANSWER_SIZE_MAX:
            answer += b"...\n"
            break
        answer += line.encode() + b"\n"
    return bytes(answer)
