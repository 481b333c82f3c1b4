"""M7: a program that others wrote gets out through every listener, plain and encrypted."""

import asyncio
import shutil
import ssl
from pathlib import Path

import pytest

from rookery.runtime.proxy.connect_listener import connect_listener
from rookery.runtime.proxy.socks_listener import socks_listener
from tests.patience import PATIENCE_S
from tests.runtime.certificate import self_signed
from tests.runtime.proxy.proxy_world import proxy_world

CURL = shutil.which("curl")
PAGE = b"rooks\n" * 200_000

pytestmark = pytest.mark.skipif(CURL is None, reason="needs curl")


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    head = f"HTTP/1.1 200 OK\r\ncontent-length: {len(PAGE)}\r\nconnection: close\r\n\r\n"
    writer.write(head.encode() + PAGE)
    await writer.drain()
    writer.close()


async def curl(*arguments: str) -> bytes:
    assert CURL is not None
    process = await asyncio.create_subprocess_exec(
        CURL, "-sS", "--noproxy", "", *arguments, stdout=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(PATIENCE_S):
        out, _ = await process.communicate()
    return out


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("listener_kind", ["socks", "connect"])
async def test_curl_gets_a_page(listener_kind: str, scheme: str, tmp_path: Path) -> None:
    certificate, key = self_signed(tmp_path)
    context = None
    if scheme == "https":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    port = server.sockets[0].getsockname()[1]
    page = f"{scheme}://127.0.0.1:{port}/"
    async with proxy_world() as world, server:
        if listener_kind == "socks":
            listener, option = await socks_listener(world.alice), "socks5h://"
        else:
            listener, option = await connect_listener(world.alice), "http://"
        async with listener:
            proxy = ["--proxytunnel", "--proxy", f"{option}{listener.address}"]
            assert await curl(*proxy, "--cacert", str(certificate), page) == PAGE
        assert len(world.town.opened) == 1
