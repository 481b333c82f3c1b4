"""From a wish to JSON-RPC (F6–F11), with real processes, on every kind of store.

With two hubs, people ask the one, and of servers and devices some know the one, some the other.
"""

import json
import signal
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from rookery.store.spool.reader import SpoolReader
from rookery.wire import observation_content
from rookery.wire.fleet.telemetry import SessionReport
from rookery.wire.link.lob import JsonObject
from rookery.wire.observation import SESSION, Observation
from tests.e2e.fleet.world import Agent, Person, World, eventually
from tests.server.browser import Browser

pytestmark = pytest.mark.xdist_group("fleet")

STEPS = ["wished", "called", "router_here", "reserving", "directed", "arrived", "done"]


class Scene(NamedTuple):
    world: World
    alice: Person
    bob: Person
    attic: Agent  # alice's
    cellar: Agent  # bob's
    stray: Agent  # nobody's


@pytest.fixture(scope="module")
def scene(world: World) -> Scene:
    near, far = world.hubs[0], world.hubs[-1]
    world.server("north", near)
    world.server("south", far)
    alice, bob = world.person("alice", far), world.person("bob", far)
    for person in (alice, bob):
        person.register()
        assert person.sign_in().code == 0
    attic = world.agent("attic", alice.code(), near)
    cellar = world.agent("cellar", bob.code(), far)
    stray = world.agent("stray", hub=near)
    alice.await_device(attic.mac)
    bob.await_device(cellar.mac)
    return Scene(world, alice, bob, attic, cellar, stray)


def test_every_step_of_a_rendezvous_is_seen(scene: Scene) -> None:
    """F6, F7, F8, F9, F10: wish, call, TCP, seat, direction, arrival, and the answer with it."""
    steps = list(scene.alice.steps(scene.attic.mac))
    assert [step["name"] for step in steps] == STEPS
    assert all(step["text"] for step in steps)
    assert [step["at"] for step in steps] == sorted(step["at"] for step in steps)  # type: ignore[type-var]
    reserving, done = steps[3], steps[-1]
    assert reserving["server"]
    assert reserving["reason"]
    grant = done["grant"]
    assert isinstance(grant, dict)
    assert grant["server"] == reserving["server"]
    assert all(step["grant"] is None for step in steps[:-1])


def test_hubs_on_one_database_are_one_hub(scene: Scene) -> None:
    """F13: the same keys, so that all of them are what a device's link names."""
    links = [json.loads(hub.link.read_text()) for hub in scene.world.hubs]
    assert len({link["hashname"] for link in links}) == 1
    for person, agent in ((scene.alice, scene.attic), (scene.bob, scene.cellar)):
        assert [step["name"] for step in person.steps(agent.mac)] == STEPS


def test_a_client_controls_its_device_over_tcp(scene: Scene) -> None:
    """F11, with the command line."""
    answer = scene.alice.rpc(scene.attic.mac, "system.uptime")
    assert answer.code == 0, answer.err
    assert json.loads(answer.out)
    unknown = scene.alice.rpc(scene.attic.mac, "system.nothing")
    assert unknown.code == 1
    assert "Method not found" in unknown.err
    resolved = scene.alice.rpc(scene.attic.mac, "net.resolve", {"name": "localhost"})
    assert "127.0.0.1" in resolved.out


async def test_a_client_controls_its_device_over_a_websocket(scene: Scene) -> None:
    """F11, as a browser does: discovery, batch, notification, errors; and a ticket is good once."""
    steps = list(scene.alice.steps(scene.attic.mac))
    grant = steps[-1]["grant"]
    assert isinstance(grant, dict), [step["text"] for step in steps]
    browser = await _seated(grant)
    browser.send(_call("rpc.discover", 1))
    found = await browser.received()
    methods = {method["name"] for method in found["result"]["methods"]}
    assert {"system.info", "net.interfaces", "config.get", "exec"} <= methods
    notification = {"jsonrpc": "2.0", "method": "system.uptime"}
    browser.send([_call("system.uptime", 2), notification, _call("no.such", "three")])
    answers = await browser.received()
    assert {answer["id"] for answer in answers} == {2, "three"}
    assert {each["error"]["code"] for each in answers if "error" in each} == {-32601}
    browser.send(_call("exec", 4, {"command": ["id"]}))
    assert "error" in await browser.received()
    browser.close()
    again = await Browser.open(_place(grant))
    await again.accepted()
    again.send({"ticket": grant["ticket"], "seat": grant["seat"]})
    assert await again.closed() is not None
    again.close()


def test_calls_are_audited(scene: Scene) -> None:
    scene.alice.rpc(scene.attic.mac, "system.uptime")
    hub = scene.alice.hub
    hub.fleet("account", "role", "alice", "admin")
    try:
        eventually(lambda: "system.uptime" in scene.alice.http.get("/api/v1/audit").text)
    finally:
        hub.fleet("account", "role", "alice", "user")


def test_sessions_are_observed(scene: Scene) -> None:
    """P2: the server reports the seat that was left, to whichever hub it knows."""

    def sessions() -> list[SessionReport]:
        kept = [each.data for hub in scene.world.hubs for each in SpoolReader(hub.folder / "spool")]
        found = [each for each in map(Observation.parse, kept) if each.kind == SESSION]
        reports = [observation_content.decode(each.kind, each.content) for each in found]
        return [each for each in reports if isinstance(each, SessionReport)]

    assert scene.alice.rpc(scene.attic.mac, "system.uptime").code == 0
    eventually(lambda: any(each.received_bytes for each in sessions()))
    told = next(each for each in sessions() if each.received_bytes)
    assert (told.who, told.router) == ("alice", scene.attic.mac)
    assert told.seat
    assert told.server
    assert told.opened_at <= told.closed_at


def test_unknown_foreign_and_unowned_devices_are_refused(scene: Scene) -> None:
    """F6: 403 for another's, and the same for one that nobody knows."""
    post = scene.alice.http.post
    assert post("/", params={"mac": "02:ff:ff:ff:ff:ff"}).status_code == 403
    foreign = post("/", params={"mac": scene.cellar.mac})
    assert foreign.status_code == 403
    assert post(f"/api/v1/devices/{scene.cellar.mac}/connect").status_code == 403
    assert scene.alice.rpc(scene.cellar.mac, "system.uptime").code == 4
    assert post("/", params={"mac": scene.stray.mac}).status_code == 403
    assert post("/", params={"mac": "nonsense"}).status_code in (400, 404)
    assert (
        scene.world.person("nobody").http.post("/", params={"mac": scene.attic.mac}).status_code
        == 401
    )


def test_a_stray_device_is_claimed_by_what_its_console_shows(scene: Scene) -> None:
    """F15: the list of one's own devices, and how one gets there."""
    assert scene.stray.mac not in scene.bob.http.get("/api/v1/devices").text
    wrong = scene.bob.http.post(
        "/api/v1/devices/claim", json={"mac": scene.stray.mac, "code": "AAAAAAAAAA"}
    )
    assert wrong.status_code in (403, 404, 422)
    code = _claim_code(scene.stray)
    claimed = scene.bob.http.post(
        "/api/v1/devices/claim", json={"mac": scene.stray.mac, "code": code}
    )
    assert claimed.status_code in (200, 201), claimed.text
    assert scene.stray.mac in scene.bob.http.get("/api/v1/devices").text
    assert scene.bob.rpc(scene.stray.mac, "system.uptime").code == 0


def test_a_silent_device_is_told_with_when_it_was_seen(scene: Scene) -> None:
    """F6: 409, and the time of the last report."""
    quiet = scene.world.agent("quiet", scene.bob.code(), scene.world.hubs[0])
    scene.bob.await_device(quiet.mac)
    quiet.running.signal(signal.SIGKILL)
    scene.bob.await_device(quiet.mac, "silent")
    answer = scene.bob.http.post("/", params={"mac": quiet.mac})
    assert answer.status_code == 409
    assert answer.json()["last_seen"] > 1e9
    assert scene.bob.rpc(quiet.mac, "system.uptime").code == 3


def _claim_code(agent: Agent) -> str:
    """Its console names it once it is enrolled."""
    while "claim" not in (line := agent.running.error_line()).lower():
        pass
    words = [word.strip(".,:;()") for word in line.split()]
    (code,) = [word for word in words if len(word.replace("-", "")) == 10 and word.isupper()]
    return code


def _call(method: str, number: object, params: object = None) -> JsonObject:
    call: JsonObject = {"jsonrpc": "2.0", "method": method, "id": number}
    return call if params is None else {**call, "params": params}


async def _seated(grant: JsonObject) -> Browser:
    browser = await Browser.open(_place(grant))
    assert await browser.accepted() == 101
    browser.send({"ticket": grant["ticket"], "seat": grant["seat"]})
    welcome = await browser.received()
    assert welcome["mac"] == grant["mac"]
    return browser


def _place(grant: JsonObject) -> tuple[str, int]:
    url = urlsplit(str(grant["ws"]))
    assert url.hostname is not None
    assert url.port is not None
    return url.hostname, url.port
