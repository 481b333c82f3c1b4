"""The hub's API from a client's side: who we are, what comes back, and what goes wrong."""

import asyncio
import json
import socket
from collections.abc import Iterator

import msgspec
import pytest

from rookery.client.api import API, HubApi
from rookery.client.http import AnonymousError, checked_url
from rookery.errors import (
    CongestionError,
    DeniedError,
    ProtocolError,
    RookeryError,
    UnreachableError,
    UsageError,
)
from rookery.fleet.rendezvous.wish import Grant, WishStep
from tests.client.small_site import Reply, SmallSite, reply, small_site

MAC = bytes.fromhex("02fc00000001")
CONNECT = f"POST {API}/devices/02%3Afc%3A00%3A00%3A00%3A01/connect"
GRANT = Grant("seat", "ticket", "a" * 52, "127.0.0.1:1", "", b"key", b"digest", 60, "02:…")


@pytest.fixture
def site() -> Iterator[SmallSite]:
    with small_site() as site:
        yield site


def events(*steps: WishStep) -> Reply:
    lines = [
        b": \n\nevent: %b\ndata: %b\n\n" % (step.name.encode(), msgspec.json.encode(step))
        for step in steps
    ]
    return Reply(200, b"".join(lines), (("Content-Type", "text/event-stream"),))


async def test_a_token_comes_of_a_session(site: SmallSite) -> None:
    """F15: sign in once; the password goes to the hub and nowhere else."""
    cookie = ("Set-Cookie", "rookery_session=abc; HttpOnly; Path=/; SameSite=Lax")
    site.replies = {
        f"POST {API}/session": reply({"login": "ann", "role": "user"}, 201, cookie),
        f"POST {API}/tokens": reply({"id": 7, "token": "rk_x", "expires_at": None}, 201),
        f"DELETE {API}/session": Reply(204),
    }
    api = HubApi(site.url)
    assert (await api.sign_in("ann", "correct horse")).login == "ann"
    token = await api.make_token("laptop")
    await api.sign_out()
    assert (token.id, token.token) == (7, "rk_x")
    assert "rk_x" not in repr(token)
    signing_in, making, _ = site.asked
    assert json.loads(signing_in.body) == {"login": "ann", "password": "correct horse"}
    assert making.headers["cookie"] == "rookery_session=abc"
    assert making.headers["origin"] == site.url
    assert b"correct horse" not in making.body


async def test_devices_are_listed_with_a_token(site: SmallSite) -> None:
    row = {"mac": "02:fc:00:00:00:01", "name": "kitchen", "state": "online", "claimed_at": 1.0}
    site.replies = {f"GET {API}/devices": reply([{**row, "of_a_newer_hub": 1}])}
    (device,) = await HubApi(site.url, "rk_x").devices()
    assert (device.name, device.state) == ("kitchen", "online")
    assert site.asked[0].headers["authorization"] == "Bearer rk_x"


async def test_steps_come_as_they_happen(site: SmallSite) -> None:
    """F6 to F10, told to the client."""
    steps = [
        WishStep(5, "wished", "wait", 1.0),
        WishStep(5, "called", "still", 2.0),
        WishStep(5, "done", "go", 3.0, server="a" * 52, grant=GRANT),
    ]
    site.replies = {CONNECT: events(*steps)}
    assert [step async for step in HubApi(site.url, "rk_x").connect(MAC)] == steps
    assert site.asked[0].headers["accept"] == "text/event-stream"


async def test_a_wish_that_fails_says_why(site: SmallSite) -> None:
    site.replies = {
        CONNECT: events(WishStep(5, "wished", "wait", 1.0), WishStep(5, "failed", "gone", 2.0))
    }
    with pytest.raises(UnreachableError, match="gone"):
        _ = [step async for step in HubApi(site.url, "rk_x").connect(MAC)]


@pytest.mark.parametrize(
    "body", [b"", b"data: {}\n\n", b"data: rubbish\n\n", b"data:" + b"x" * (1 << 17)]
)
async def test_a_stream_that_breaks_off_or_is_none_is_an_error(
    body: bytes, site: SmallSite
) -> None:
    site.replies = {CONNECT: Reply(200, body)}
    with pytest.raises((UnreachableError, ProtocolError)):
        _ = [step async for step in HubApi(site.url, "rk_x").connect(MAC)]


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, UsageError),
        (401, AnonymousError),
        (403, DeniedError),
        (404, UnreachableError),
        (409, UnreachableError),
        (429, CongestionError),
        (500, UnreachableError),
        (503, UnreachableError),
    ],
)
async def test_problems_are_errors_in_the_hubs_words(
    status: int, error: type[RookeryError], site: SmallSite
) -> None:
    problem = {"status": status, "code": "x", "detail": "last reported at noon", "retry_after": 9}
    site.replies = {CONNECT: reply(problem, status), f"GET {API}/me": reply(problem, status)}
    with pytest.raises(error, match="at noon"):
        await HubApi(site.url, "rk_x").me()
    with pytest.raises(error, match="at noon"):
        _ = [step async for step in HubApi(site.url, "rk_x").connect(MAC)]


async def test_a_redirection_does_not_get_the_token(site: SmallSite) -> None:
    """Hostile: a token is for one hub alone."""
    with small_site() as thief:
        away = (("Location", f"{thief.url}{API}/me"),)
        site.replies = {f"GET {API}/me": Reply(302, b"", away)}
        with pytest.raises(UnreachableError, match="302"):
            await HubApi(site.url, "rk_x").me()
        assert thief.asked == []


@pytest.mark.parametrize("body", [b"", b"rubbish", b"[]", b'{"login": 7}', b"\xff"])
async def test_what_is_no_answer_is_an_error(body: bytes, site: SmallSite) -> None:
    site.replies = {f"GET {API}/me": Reply(200, body)}
    with pytest.raises(ProtocolError):
        await HubApi(site.url, "rk_x").me()


async def test_a_hub_that_is_away_is_unreachable() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(UnreachableError, match="does not answer"):
        await HubApi(f"http://127.0.0.1:{port}").me()


async def test_a_closed_event_stream_does_not_wait() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                _ = [step async for step in HubApi(url, "rk_x").connect(MAC)]


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("hub.example.org", "https://hub.example.org"),
        ("hub.example.org:8420", "https://hub.example.org:8420"),
        ("192.0.2.1:8420", "https://192.0.2.1:8420"),
        ("127.0.0.1:8420", "http://127.0.0.1:8420"),
        ("localhost", "http://localhost"),
        ("[::1]:8420", "http://[::1]:8420"),
        ("https://hub.example.org/", "https://hub.example.org"),
        ("http://[::1]:8420", "http://[::1]:8420"),
    ],
)
def test_urls_as_people_write_them(given: str, url: str) -> None:
    assert checked_url(given) == url


@pytest.mark.parametrize(
    "given",
    [
        "ftp://hub",
        "http://",
        "http://hub:port",
        "http://ann:secret@hub",
        "http://hub/path",
        "http://hub.example.org",
        "http://192.0.2.1:8420",
        "http://hub/?a=b",
        "file:///etc/passwd",
    ],
)
def test_what_is_no_hubs_url_is_refused(given: str) -> None:
    with pytest.raises(UsageError) as refused:
        checked_url(given)
    assert "secret" not in str(refused.value)
