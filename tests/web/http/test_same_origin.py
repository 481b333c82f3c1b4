"""Requests that another site makes a browser send."""

import asyncio

import httpx

from tests.patience import PATIENCE_S
from tests.web.world import MAC, PASSWORD, World

API = "/api/v1"
OTHER = [
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
    {"sec-fetch-site": "cross-site", "origin": "http://hub.test"},
    {"origin": "http://evil.test"},
    {"origin": "https://hub.test"},
    {"origin": "http://hub.test:8080"},
    {"origin": "http://hub.test.evil.test"},
    {"origin": "http://hub.test@evil.test"},
    {"origin": "null"},
    {"origin": ""},
    {"origin": "http://hub.test:99999"},
]
OURS: list[dict[str, str]] = [
    {},
    {"sec-fetch-site": "same-origin"},
    {"sec-fetch-site": "none"},
    {"origin": "http://hub.test"},
    {"origin": "http://hub.test:80"},
]


async def test_another_site_changes_nothing(hubworld: World) -> None:
    alice = await hubworld.owner("alice")
    async with asyncio.timeout(
        PATIENCE_S
    ):  # what is let through waits for a router that never comes
        answers = [answer for headers in OTHER for answer in await _attacked(alice, headers)]
    assert {answer.status_code for answer in answers} == {403}
    assert {answer.json()["code"] for answer in answers} == {"cross_origin"}
    assert len((await alice.get(f"{API}/devices")).json()) == 1
    assert hubworld.hub.wishes.empty()


async def _attacked(alice: httpx.AsyncClient, headers: dict[str, str]) -> list[httpx.Response]:
    return [
        await alice.post("/", params={"mac": MAC.hex(":")}, headers=headers),
        await alice.post("/signout", headers=headers),
        await alice.post(f"/devices/{MAC.hex(':')}/release", headers=headers),
        await alice.delete(f"{API}/devices/{MAC.hex(':')}", headers=headers),
        await alice.post(f"{API}/tokens", json={"name": "mine"}, headers=headers),
    ]


async def test_another_site_cannot_sign_in(hubworld: World) -> None:
    """Else a victim might work in the attacker's account without noticing."""
    await hubworld.account("mallory")
    async with hubworld.anonymous() as client:
        body = {"login": "mallory", "password": PASSWORD}
        for headers in OTHER:
            for answer in (
                await client.post("/auth", data=body, headers=headers),
                await client.post(f"{API}/session", json=body, headers=headers),
            ):
                assert answer.status_code == 403, headers
                assert "set-cookie" not in answer.headers


async def test_our_own_pages_and_programs_are_let_in(hubworld: World) -> None:
    alice = await hubworld.owner("alice")
    for headers in OURS:
        answer = await alice.patch(
            f"{API}/devices/{MAC.hex(':')}", json={"name": "cellar"}, headers=headers
        )
        assert answer.status_code == 200, headers


async def test_a_token_is_no_cookie_and_works_from_anywhere(hubworld: World) -> None:
    alice = await hubworld.owner("alice")
    made = await alice.post(f"{API}/tokens", json={"name": "page", "scopes": ["write"]})
    bearer = {"authorization": f"Bearer {made.json()['token']}", "origin": "http://other.test"}
    async with hubworld.anonymous() as client:
        answer = await client.patch(
            f"{API}/devices/{MAC.hex(':')}", json={"name": "cellar"}, headers=bearer
        )
        assert answer.status_code == 200
