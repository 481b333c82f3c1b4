"""F14, F15: registering, signing in and out, passwords."""

from tests.web.world import PASSWORD, World

API = "/api/v1"


async def test_register_sign_in_and_out(hubworld: World) -> None:
    """F15."""
    async with hubworld.visitor() as client:
        body = {"login": " Alice", "password": PASSWORD}
        registered = await client.post(f"{API}/accounts", json=body)
        assert registered.status_code == 201
        assert registered.json() == {"login": "alice", "role": "user", "scopes": None}
        assert (await client.get(f"{API}/me")).status_code == 401
        signed_in = await client.post(f"{API}/session", json=body)
        assert signed_in.status_code == 201
        assert (await client.get(f"{API}/me")).json()["login"] == "alice"
        assert (await client.delete(f"{API}/session")).status_code == 204
        assert (await client.get(f"{API}/me")).status_code == 401
