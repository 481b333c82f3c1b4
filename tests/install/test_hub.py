"""With `hub`: a hub and a server, a device that has the small package only, and its owner."""

import json
from contextlib import ExitStack
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from tests.e2e.fleet.world import eventually
from tests.install.environment import TIMEOUT_S, Environment, Installer

pytestmark = [pytest.mark.xdist_group("install"), pytest.mark.slow]

MAC = "02:fc:00:00:00:01"
PASSWORD = b"correct horse battery\n"
HERE = "127.0.0.1:0"


def test_an_owner_calls_a_device_through_a_hub(
    installer: Installer, none: Environment, tmp_path: Path
) -> None:
    """As in the guide of the first hour."""
    hub = installer.environment("hub")

    def done(environment: Environment, *arguments: str, stdin: bytes = b"") -> str:
        outcome = environment.rookery(*arguments, cwd=tmp_path, stdin=stdin)
        assert outcome.code == 0, outcome.err
        return outcome.out

    with ExitStack() as stack:

        def started(environment: Environment, *arguments: str) -> str:
            running = environment.running(*arguments, cwd=tmp_path)
            return stack.enter_context(running).line(TIMEOUT_S)

        ports = ("--http", HERE, "--udp", HERE, "--tcp", HERE)
        link = started(hub, "hub", "--data", "hub", "--policy", "open", *ports)
        (tmp_path / "hub.link").write_text(link)
        url = next(each["url"] for each in json.loads(link)["paths"] if each["type"] == "http")
        assert 'type="password"' in fetched(f"{url}/auth")

        done(
            hub,
            "fleet",
            "account",
            "add",
            "ann",
            "--role",
            "admin",
            "--data",
            "hub",
            stdin=PASSWORD,
        )
        code = done(hub, "fleet", "code", "--server", "--data", "hub")
        (tmp_path / "server.code").write_text(code)
        known = ("--hub", "hub.link", "--id", "server", "--code-file", "server.code")
        started(hub, "server", *known, "--tcp", HERE)

        done(none, "login", url, "--login", "ann", "--data", "ann", stdin=PASSWORD)
        added = json.loads(done(none, "devices", "add", "--data", "ann", "--json"))
        (tmp_path / "attic.code").write_text(added["code"])
        claim = ("--mac", MAC, "--interval", "1", "--claim-file", "attic.code")
        started(none, "agent", "--hub", "hub.link", "--id", "attic", *claim)

        def answers() -> bool:
            call = ("rpc", MAC, "system.uptime", "--data", "ann")
            return none.rookery(*call, cwd=tmp_path).code == 0

        eventually(answers, TIMEOUT_S)


def fetched(url: str) -> str:
    with urlopen(Request(url, headers={"Accept": "text/html"}), timeout=TIMEOUT_S) as answer:
        text: bytes = answer.read()
    return text.decode()
