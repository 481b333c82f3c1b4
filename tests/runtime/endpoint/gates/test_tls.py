"""The TLS layer without sockets, and the contexts it is made from."""

import random
import ssl
from pathlib import Path

import pytest

from rookery.errors import DecodeError, UsageError
from rookery.runtime.endpoint.gates.tls import TlsLayer, client_context, server_context
from tests.runtime.certificate import self_signed


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    return server_context(*self_signed(tmp_path_factory.mktemp("tls")))


def shake_hands(client: TlsLayer, server: TlsLayer) -> None:
    for _ in range(4):
        server.feed(client.seal(b""))
        client.feed(server.seal(b""))
    assert client.ready
    assert server.ready


def test_bytes_pass_both_ways_in_pieces(context: ssl.SSLContext) -> None:
    client, server = TlsLayer.dialling(client_context(), "127.0.0.1"), TlsLayer.accepting(context)
    shake_hands(client, server)
    sealed = client.seal(bytes(100_000))
    pieces = [sealed[at : at + 999] for at in range(0, len(sealed), 999)]
    assert b"".join(map(server.feed, pieces)) == bytes(100_000)
    assert client.feed(server.seal(b"answer")) == b"answer"


def test_a_server_says_nothing_to_garbage(context: ssl.SSLContext) -> None:
    dice = random.Random(42424)
    for _ in range(500):
        server = TlsLayer.accepting(context)
        try:
            assert server.feed(dice.randbytes(dice.randrange(1, 300))) == b""
        except DecodeError:
            continue  # the gate closes without asking what TLS would say to that
        assert server.seal(b"") == b""


def test_a_client_that_verifies_refuses_a_stranger(context: ssl.SSLContext) -> None:
    client = TlsLayer.dialling(ssl.create_default_context(), "127.0.0.1")
    server = TlsLayer.accepting(context)
    server.feed(client.seal(b""))
    with pytest.raises(DecodeError, match="CERTIFICATE_VERIFY_FAILED"):
        client.feed(server.seal(b""))


def test_files_that_cannot_be_read_are_one_clear_line(tmp_path: Path) -> None:
    certificate, key = self_signed(tmp_path)
    with pytest.raises(UsageError, match=r"^cannot use .* for TLS: No such file or directory$"):
        server_context(tmp_path / "nothing", key)
    certificate.write_text("damaged")
    with pytest.raises(UsageError, match=r"^cannot use .* for TLS: "):
        server_context(certificate, key)


def test_an_encrypted_key_is_one_clear_line(tmp_path: Path) -> None:
    certificate, key = self_signed(tmp_path, b"secret")
    with pytest.raises(UsageError, match=r"^an encrypted TLS key is not supported"):
        server_context(certificate, key)
