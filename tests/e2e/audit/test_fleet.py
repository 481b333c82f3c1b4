"""What owners and routers could do to other owners, and to the audit; real processes."""

import time
from pathlib import Path

import pytest

from tests.cli.program import rookery
from tests.e2e.fleet.world import PASSWORD, Agent, Person, World, eventually

ENROLLED = 150  # more than the audit takes at once
ROUNDED_S = 1.0  # a claim is remembered to the second

pytestmark = pytest.mark.slow


def reported_at(person: Person, mac: str) -> list[float]:
    """The reports that its page shows, in Unix seconds."""
    answer = person.http.get(f"/api/v1/devices/{mac}/telemetry", params={"span": "now"})
    if answer.status_code != 200:
        return []
    return [float(at) for at in answer.json()["at"]]


def claim_code(agent: Agent) -> str:
    while "claim code" not in (line := agent.running.error_line()):
        assert line
    return line.split("claim code")[1].split()[0]


def test_a_new_owner_sees_no_report_of_the_time_before(tmp_path: Path) -> None:
    """Low: the last reports, which the hub remembers, were those of the former owner, too."""
    with World(tmp_path) as world:
        alice, bob = world.person("alice"), world.person("bob")
        alice.register()
        bob.register()
        attic = world.agent("attic", alice.code())
        eventually(lambda: len(reported_at(alice, attic.mac)) >= 3)
        assert alice.http.delete(f"/api/v1/devices/{attic.mac}").status_code == 204
        code = claim_code(attic)
        claimed_at = time.time()
        claim = {"mac": attic.mac, "code": code}
        assert bob.http.post("/api/v1/devices/claim", json=claim).status_code in (200, 201)
        eventually(lambda: len(reported_at(bob, attic.mac)) >= 2)
        assert min(reported_at(bob, attic.mac)) > claimed_at - ROUNDED_S
        assert reported_at(alice, attic.mac) == []


def test_a_flood_of_enrolments_keeps_no_denial_off_the_record(tmp_path: Path) -> None:
    """Low: rows of enrolments took all the room that the audit has in a while."""
    with World(tmp_path) as world:
        (hub,) = world.hubs
        hub.fleet("account", "add", "ada", "--role", "admin", stdin=PASSWORD)
        ada = world.person("ada")
        sign_in = {"login": "ada", "password": PASSWORD}
        assert ada.http.post("/auth", params=sign_in).status_code in (200, 201)
        attic = world.agent("attic")
        crowd = ("--routers", str(ENROLLED), "--interval", "0.5", "--seconds", "2")
        assert rookery("fleet", "simulate", "--hub", hub.link, *crowd).code == 0
        world.agent("impostor", mac=attic.mac)
        eventually(lambda: bool(audited(ada, "security.foreign_key")))
        assert 0 < len(audited(ada, "router.enrolled")) < ENROLLED


def audited(person: Person, what: str) -> list[object]:
    answer = person.http.get("/api/v1/audit", params={"what": what, "count": 200})
    assert answer.status_code == 200, answer.text
    rows = answer.json()
    assert isinstance(rows, list)
    return rows
