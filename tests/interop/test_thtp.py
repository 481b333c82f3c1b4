"""HTTP over links with telehash-js, asking and being asked (T4)."""

import hashlib
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from rookery.runtime.endpoint.channels.thtp_asgi import Event, Scope
from tests.interop.rook import PAIRWISE, Neighbours

pytestmark = [pytest.mark.interop, pytest.mark.parametrize("wire", PAIRWISE, ids=str)]

LARGE = 300_000
UPLOAD = 100_000
UPLOAD_TO_JS = 20_000  # a larger body fills a buffer there that nobody empties
FILE = bytes(range(256)) * 1000


async def app(
    scope: Scope,
    receive: Callable[[], Awaitable[Event]],
    send: Callable[[Event], Awaitable[None]],
) -> None:
    """Says what was asked."""
    size, more = 0, True
    while more:
        event = await receive()
        body = event["body"]
        assert isinstance(body, bytes)
        size += len(body)
        more = bool(event["more_body"])
    headers = [(b"content-type", b"text/plain"), (b"x-rook", b"caw")]
    await send({"type": "http.response.start", "status": 201, "headers": headers})
    asked = f"{scope['method']} {scope['path']} {size}"
    await send({"type": "http.response.body", "body": asked.encode()})


async def test_they_ask_our_application_and_fetch_our_files(
    neighbours: Neighbours, tmp_path: Path
) -> None:
    rook, js, _ = neighbours
    rook.on_thtp(app)
    got = await js.call("thtpRequest", hashname=rook.hashname, path="/a?b")
    assert (got["status"], got["text"]) == (201, "GET /a 0")
    assert isinstance(got["headers"], dict)
    assert got["headers"]["x-rook"] == "caw"
    posted = await js.call(
        "thtpRequest", hashname=rook.hashname, method="POST", path="/", body="r" * UPLOAD
    )
    assert posted["text"] == f"POST / {UPLOAD}"
    (tmp_path / "rook.bin").write_bytes(FILE)
    rook.serve_files(tmp_path)
    got = await js.call("thtpRequest", hashname=rook.hashname, path="/rook.bin")
    assert (got["status"], got["bytes"]) == (200, len(FILE))
    assert got["sha256"] == hashlib.sha256(FILE).hexdigest()
    missing = await js.call("thtpRequest", hashname=rook.hashname, path="/none")
    assert missing["status"] == 404


async def test_we_ask_their_server(neighbours: Neighbours) -> None:
    _, js, link = neighbours
    await js.call("thtpServe")
    async with await link.thtp("GET", "/a?b") as response:
        assert response.status == 201
        assert response.headers["content-type"] == "application/json"
        assert await response.json() == {"method": "GET", "path": "/a?b", "body": ""}
    async with await link.thtp("POST", "/", body=b"r" * UPLOAD_TO_JS) as response:
        assert await response.json() == {"method": "POST", "path": "/", "body": "r" * UPLOAD_TO_JS}
    async with await link.thtp("GET", f"/bytes/{LARGE}") as response:
        body = await response.read()
    assert body == (b"rookery" * LARGE)[:LARGE]
