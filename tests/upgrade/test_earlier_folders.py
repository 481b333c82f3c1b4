"""Data folders of earlier versions go on: identities, accounts, devices, spools, lake, realm.

Each archive is named after the commit whose programs made it; make_folders says how.
"""

import json
import tarfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from rookery.wire.link.lob import JsonObject
from tests.cli.program import Running, rookery, running
from tests.e2e.fleet.world import eventually
from tests.upgrade.make_folders import MAC, PASSWORD

ARCHIVES = sorted(Path(__file__).parent.glob("*.tar.xz"))

pytestmark = pytest.mark.slow


class Fleet(NamedTuple):
    """Programs of today on those folders."""

    folder: Path
    url: str
    hub: JsonObject  # its link
    agent: JsonObject
    landed: list[JsonObject]  # rows of the lake, as they were before


def rows(folder: Path) -> list[JsonObject]:
    sql = "SELECT position, sequence, reporter FROM landing.device_reports ORDER BY position"
    asked = rookery("lake", "query", "--data", folder / "lake", "--json", sql)
    assert asked.code == 0, asked.err
    return asked.json_lines()


def hashname(folder: Path) -> object:
    return rookery("id", "show", folder, "--json").json()["hashname"]


def printed(program: Running) -> JsonObject:
    line = program.line()
    assert line, program.error_line()
    value: JsonObject = json.loads(line)
    return value


@pytest.fixture(scope="module", params=ARCHIVES, ids=lambda path: path.name.partition(".")[0])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("earlier")
    with tarfile.open(request.param) as archive:
        archive.extractall(place, filter="data")
    return place


@pytest.fixture(scope="module")
def fleet(folder: Path) -> Iterator[Fleet]:
    places = [word for name in ("udp", "tcp", "http") for word in (f"--{name}", "127.0.0.1:0")]
    landed = rows(folder)
    with ExitStack() as stack:
        hub = stack.enter_context(running("hub", "--data", folder / "hub", *places))
        link = printed(hub)
        (folder / "today.link").write_text(json.dumps(link))
        paths = link["paths"]
        assert isinstance(paths, list)
        url = str(next(path["url"] for path in paths if path["type"] == "http")).rstrip("/")
        signed_in = json.loads((folder / "ann" / "hub.json").read_text())
        (folder / "ann" / "hub.json").write_text(json.dumps({**signed_in, "url": url}))
        known = ("--hub", folder / "today.link", "--id")
        stack.enter_context(running("server", *known, folder / "server"))
        agent = stack.enter_context(
            running("agent", *known, folder / "agent", "--mac", MAC, "--interval", "1")
        )
        yield Fleet(folder, url, link, printed(agent), landed)


def test_hub_and_agent_are_who_they_were(fleet: Fleet) -> None:
    before = json.loads((fleet.folder / "hub.link").read_text())
    assert (fleet.hub["hashname"], fleet.hub["keys"]) == (before["hashname"], before["keys"])
    assert fleet.agent["hashname"] == hashname(fleet.folder / "agent")


def test_whoever_was_signed_in_reaches_the_device_by_the_server(fleet: Fleet) -> None:
    """Without a code: hub, server and agent know each other by what they kept."""
    ann = ("--data", fleet.folder / "ann")
    eventually(lambda: " online " in rookery("devices", *ann).out)
    eventually(lambda: rookery("rpc", MAC, "system.uptime", *ann).code == 0)
    metrics = httpx.get(f"{fleet.url}/metrics").text
    assert 'rookery_report_datagrams_total{fate="enrolled"} 0.0' in metrics


def test_the_account_has_its_password_and_role(fleet: Fleet) -> None:
    with httpx.Client(base_url=fleet.url, headers={"Accept": "application/json"}) as http:
        entered = http.post("/auth", params={"login": "ann", "password": PASSWORD})
        assert entered.status_code in (200, 201), entered.text
        device = http.get(f"/api/v1/devices/{MAC}").json()
        assert device["is_mine"]
        assert device["hashname"] == fleet.agent["hashname"]
        assert http.get("/api/v1/accounts").status_code == 200


def test_what_had_not_landed_lands_once(fleet: Fleet) -> None:
    assert fleet.landed
    last = fleet.landed[-1]["sequence"]
    assert isinstance(last, int)
    folder = fleet.folder
    done = rookery("lake", "land", "--spool", folder / "hub", "--data", folder / "lake")
    assert done.code == 0, done.err
    now = rows(folder)
    assert now[: len(fleet.landed)] == fleet.landed
    assert now[len(fleet.landed)]["sequence"] == last + 1  # reported to the earlier version
    assert len({row["position"] for row in now}) == len(now)


def test_members_of_a_realm_are_who_they_were_and_link(folder: Path) -> None:
    alice, bob = (
        (folder / name, folder / realm) for name, realm in (("alice", "home"), ("bob", "bobs-home"))
    )
    listen = ("--listen", "127.0.0.1:0")
    with running("node", "--id", alice[0], "--realm", alice[1], *listen) as first:
        link = printed(first)
        assert link["hashname"] == hashname(alice[0])
        (folder / "alice.link").write_text(json.dumps(link))
        peer = ("--peer", folder / "alice.link")
        with running("node", "--id", bob[0], "--realm", bob[1], *listen, *peer) as second:
            assert printed(second)["hashname"] == hashname(bob[0])
            ping = ("ping", "alice", "--id", bob[0], "--count", "1")
            eventually(lambda: rookery(*ping).code == 0)
