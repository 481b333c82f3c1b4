"""What is over is forgotten, and nothing else."""

from rookery.web.settings import DAY_S
from rookery.web.system.housekeeping import remove_expired
from tests.web.world import World

API = "/api/v1"


async def test_sessions_codes_and_old_rows_are_forgotten_in_time(hubworld: World) -> None:
    alice, site = await hubworld.signed_in("alice"), hubworld.site
    await alice.post(f"{API}/codes", json={})
    account, began = await site.accounts.find("alice"), site.wall()
    assert account is not None

    async def kept() -> tuple[int, int, int]:
        sessions = await site.sessions.of(account.id, 0.0)
        return len(sessions), len(await site.codes.of(account.id)), len(await site.audit.latest())

    await remove_expired(site)
    assert await kept() == (1, 1, 2)
    site.wall = lambda: began + site.settings.session_idle_s + 1
    await remove_expired(site)
    assert await kept() == (0, 1, 2)
    site.wall = lambda: began + 40 * DAY_S
    await remove_expired(site)
    assert await kept() == (0, 0, 2)
    site.wall = lambda: began + site.settings.audit_s + 60
    await remove_expired(site)
    assert await kept() == (0, 0, 0)
