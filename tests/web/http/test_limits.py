"""An account that does not stop changing things."""

from pathlib import Path

import msgspec

from rookery.web.settings import WebLimits
from tests.web.world import SETTINGS, world

CHANGES = 5


async def test_an_account_that_changes_too_fast_is_limited(tmp_path: Path, template: Path) -> None:
    """Or its tries would fill the audit; looking, and other accounts, are not concerned."""
    limits = WebLimits(changes_per_s=0.01, changes_burst=CHANGES)
    async with world(tmp_path, template, msgspec.structs.replace(SETTINGS, limits=limits)) as there:
        alice, bob = await there.signed_in("alice"), await there.signed_in("bob")
        foreign = "/api/v1/devices/02:00:00:00:00:99/connect"
        answers = [(await alice.post(foreign)).status_code for _ in range(CHANGES)]
        assert 429 not in answers
        refused = await alice.post(foreign)
        assert refused.status_code == 429
        assert int(refused.headers["retry-after"]) == 100
        assert (await alice.get("/api/v1/me")).status_code == 200
        assert (await bob.post(foreign)).status_code != 429
