"""A fleet in trouble: hubs, servers and stores that die while people work."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli.program import Running
from tests.e2e.fleet.world import Agent, Person, Stores, World, eventually, frozen
from tests.store.servers import MariaServer, RedisServer

pytestmark = pytest.mark.xdist_group("fleet")

ROUTER_WITHIN_S = 15  # instead of 45
AT_ONCE_S = 10  # of a loaded machine, and sooner than any wish ends by itself


class Scene(NamedTuple):
    world: World
    alice: Person
    attic: Agent
    north: Running
    south: Running


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """One for all: every test leaves it as it found it."""
    within = ("--router-within", str(ROUTER_WITHIN_S))
    with World(tmp_path_factory.mktemp("faults"), None, 1, *within) as world:
        yield settled(world)


def settled(world: World) -> Scene:
    north, south = world.server("north"), world.server("south")
    alice = world.person("alice")
    alice.register()
    assert alice.sign_in().code == 0
    attic = world.agent("attic", alice.code())
    alice.await_device(attic.mac)
    return Scene(world, alice, attic, north, south)


def test_a_killed_hub_comes_back_with_all_it_knew(scene: Scene) -> None:
    """F2: registry, owners, sessions; and devices come back by themselves."""
    (hub,) = scene.world.hubs
    before = scene.alice.device(scene.attic.mac)
    hub.kill()
    hub.start()
    after = scene.alice.device(scene.attic.mac)  # with the cookie of before
    assert (after["mac"], after["name"]) == (before["mac"], before["name"])
    assert after["last_seen"] is not None
    scene.alice.await_device(scene.attic.mac)
    assert scene.alice.rpc(scene.attic.mac, "system.uptime").code == 0


def test_a_hub_ends_well_in_the_middle_of_a_wish(scene: Scene) -> None:
    (hub,) = scene.world.hubs
    with frozen(scene.attic.running):
        steps = scene.alice.steps(scene.attic.mac)
        assert next(steps)["name"] == "wished"
        began = time.monotonic()
        assert hub.stop() == 0
        assert time.monotonic() - began < AT_ONCE_S
    hub.start()
    scene.alice.await_device(scene.attic.mac)
    assert scene.alice.rpc(scene.attic.mac, "system.uptime").code == 0


def test_the_next_server_takes_over_from_one_that_does_not_answer(scene: Scene) -> None:
    """F9: with the reason told, and the client none the worse."""
    # Either may be asked first, in turns or always the same. A router waits for a minute wherever
    # it was sent, and for no more than 16 at once, so that few tries must do.
    for server in 2 * (scene.north, scene.north, scene.south, scene.south):
        with frozen(server):
            steps = list(scene.alice.steps(scene.attic.mac))
        assert steps[-1]["name"] == "done", steps[-1]["text"]
        tried = [step["server"] for step in steps if step["name"] == "reserving"]
        if len(tried) > 1:
            break
    assert len(set(tried)) == 2
    assert steps[-1]["server"] == tried[-1]


def test_without_any_server_the_client_is_told(scene: Scene) -> None:
    with frozen(scene.north), frozen(scene.south):
        steps = list(scene.alice.steps(scene.attic.mac))
        assert steps[-1]["name"] == "failed"
        assert "server" in str(steps[-1]["text"]), (steps, scene.attic.running.errors())
    scene.alice.await_device(scene.attic.mac)
    assert scene.alice.rpc(scene.attic.mac, "system.uptime").code == 0


def test_a_device_that_stops_halfway_is_told_of(scene: Scene) -> None:
    with frozen(scene.attic.running):
        steps = list(scene.alice.steps(scene.attic.mac))
    assert [step["name"] for step in steps][-1] == "failed"
    assert steps[-1]["text"]
    scene.alice.await_device(scene.attic.mac)
    assert scene.alice.rpc(scene.attic.mac, "system.uptime").code == 0


def test_stores_that_restart_lose_nothing(tmp_path: Path) -> None:
    """F13: Redis comes back empty, MariaDB with what it had; the hub reconnects to both."""
    redis, mariadb = RedisServer(tmp_path / "redis"), MariaServer(tmp_path / "mariadb")
    with redis, mariadb, World(tmp_path, Stores(mariadb.url, redis.url)) as world:
        scene = settled(world)
        eventually(lambda: _flushed(scene))
        for store in (redis, mariadb):
            store.kill()
            answer = scene.alice.http.get("/api/v1/devices")
            assert answer.status_code in (200, 503)
            store.start()
            scene.alice.await_device(scene.attic.mac)
            eventually(lambda: scene.alice.rpc(scene.attic.mac, "system.uptime").code == 0)
        assert scene.attic.mac in scene.alice.http.get("/api/v1/devices").text
        assert world.hubs[0].stop() == 0


def _flushed(scene: Scene) -> bool:
    """Whether the database knows the device by now, too."""
    metrics = scene.alice.http.get("/metrics").text
    return any(
        line.startswith("rookery_database_written_entries_total") and float(line.split()[-1]) >= 3
        for line in metrics.splitlines()
    )
