"""Ten nodes as processes in trouble: pings between all pairs resume, and how soon (M2, M3).

The bounds here are for a busy machine; `python -m bench failover` measures against the goals.
"""

import contextlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.e2e.mesh.flock import Flock, flock, laboratory
from tests.e2e.mesh.lab import Lab, is_possible
from tests.e2e.mesh.pinger import Outages, pinging
from tests.e2e.mesh.trouble import Trouble, ready

NODES = 10
TOLD_S_MAX = 2.0  # after a reset
SILENT_S_MAX = 6.0
RETURN_S_MAX = 6.0
SLOWNESS = 20  # answers' time that a slow machine may take longer


@contextlib.asynccontextmanager
async def troubled(folder: Path) -> AsyncIterator[tuple[Flock, Trouble, bool]]:
    """A flock that is ready for it; whether it lives in a laboratory."""
    with _lab() as lab:
        async with flock(folder, NODES if lab is None else lab.hosts) as birds:
            await ready(birds)
            async with pinging(birds) as pinger:
                yield birds, Trouble(birds, pinger, lab), lab is not None


@contextlib.contextmanager
def _lab() -> Iterator[Lab | None]:
    if not is_possible():
        yield None
        return
    with laboratory(NODES) as lab:
        yield lab


def shown(outages: Outages) -> float:
    """How long they lasted, less what the machine is to blame for."""
    print(outages)
    return outages.longest_s - SLOWNESS * outages.usual_s - outages.stalled_s


@pytest.mark.slow
@pytest.mark.xdist_group("lab")
async def test_pings_between_all_pairs_resume_after_trouble(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On loopback, where there is no laboratory, nobody can be blocked or moved."""
    async with troubled(tmp_path) as (birds, trouble, is_lab):
        with capsys.disabled():
            hops = max(map(len, (await birds.routes()).values())) - 1
            print(f"\n{NODES} nodes, routes of up to {hops} hops")
            assert hops >= 3
            assert shown(await trouble.kill()) < TOLD_S_MAX
            if is_lab:
                assert shown(await trouble.block()) < SILENT_S_MAX
            frozen, thawed = await trouble.freeze()
            assert shown(frozen) < SILENT_S_MAX
            assert shown(thawed) < RETURN_S_MAX
            if is_lab:
                assert shown(await trouble.move()) < RETURN_S_MAX
