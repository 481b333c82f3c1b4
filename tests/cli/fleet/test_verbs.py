"""`login`, `devices`, `connect`, `rpc` and `fleet simulate` with a hub, a server and an agent."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from rookery.cli.main import main
from rookery.client.credentials import FILE_NAME
from tests.cli.program import Outcome, rookery
from tests.e2e.fleet.world import PASSWORD, Agent, World, eventually

pytestmark = pytest.mark.xdist_group("fleet verbs")  # one world for all of them


class Fleet:
    """One hub, one server, one device of ann's."""

    def __init__(self, world: World, folder: Path) -> None:
        self.world = world
        self.folder = folder
        self.url = world.hubs[0].url
        signed_in = self.login("ann", "--register")
        assert signed_in.code == 0, signed_in.err
        self.signed_in = signed_in.out
        self.added = self.as_ann("devices", "add", "--json").json()
        world.server("server")
        self.agent: Agent = world.agent("attic", str(self.added["code"]))
        eventually(lambda: '"online"' in self.as_ann("devices", "--json").out)

    def login(self, name: str, *options: str) -> Outcome:
        data = ["--data", str(self.folder / name)]
        password = f"{PASSWORD}\n".encode()
        return rookery("login", self.url, "--login", name, *data, *options, stdin=password)

    def as_ann(self, *words: str, stdin: bytes = b"") -> Outcome:
        return rookery(*words, "--data", self.folder / "ann", stdin=stdin)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    folder = tmp_path_factory.mktemp("fleet")
    with World(folder) as world:
        yield Fleet(world, folder)


def test_signing_in_leaves_a_token_and_no_password(fleet: Fleet) -> None:
    """F15: for its owner alone."""
    assert fleet.signed_in == f"signed in to {fleet.url} as ann\n"
    file = fleet.folder / "ann" / FILE_NAME
    assert file.stat().st_mode & 0o777 == 0o600
    assert PASSWORD not in file.read_text()
    assert json.loads(file.read_text())["token"].startswith("rk_")


def test_devices_are_listed(fleet: Fleet) -> None:
    """F15: one's own."""
    table = fleet.as_ann("devices").out
    assert fleet.agent.mac in table
    assert "online" in table
    (row,) = fleet.as_ann("devices", "--json").json_lines()
    assert (row["mac"], row["state"]) == (fleet.agent.mac, "online")


def test_a_new_device_comes_with_one_command(fleet: Fleet) -> None:
    """F15: what is printed can be run as it is."""
    command = str(fleet.added["command"])
    assert command.startswith(f"ROOKERY_CODE={fleet.added['code']} rookery agent --hub 'link://")


def test_one_call_from_the_hub_to_the_device_and_back(fleet: Fleet) -> None:
    """F6 to F11 by the command line."""
    outcome = fleet.as_ann("rpc", fleet.agent.mac, "config.get")
    assert (outcome.code, outcome.err) == (0, "")
    assert json.loads(outcome.out) == {"interval_s": 1.0, "name": "", "labels": {}}
    params = '{"key": "name", "value": "attic"}'
    changed = fleet.as_ann("rpc", fleet.agent.mac.upper(), "config.set", params, "--json")
    assert changed.json() == {"v": 1, "result": {"name": "attic"}}


@pytest.mark.parametrize(
    ("method", "params", "code", "said"),
    [
        ("exec", '{"argv": ["/bin/true"]}', 4, "allow list"),
        ("no.such.method", "[]", 1, "Method not found"),
    ],
)
def test_what_a_device_does_not_do_has_its_exit_code(
    method: str, params: str, code: int, said: str, fleet: Fleet
) -> None:
    outcome = fleet.as_ann("rpc", fleet.agent.mac, method, params)
    assert outcome.code == code
    assert said in outcome.complaint()


def test_a_session_shows_its_steps_and_takes_a_call_a_line(fleet: Fleet) -> None:
    """F6 to F11: each step told, then JSON-RPC."""
    typed = b'system.uptime\n\nhelp\nnet.resolve {"name": "127.0.0.1"}\nnet.resolve 7\nquit\nno\n'
    outcome = fleet.as_ann("connect", fleet.agent.mac, stdin=typed)
    assert outcome.code == 2  # of the last call
    assert '"machine_s"' in outcome.out
    assert "net.ping" in outcome.out
    assert '"127.0.0.1"' in outcome.out
    assert "PARAMS is a JSON object" in outcome.err
    assert outcome.err.index("calls the device") < outcome.err.index("waits at server")


def test_steps_and_results_for_programs(fleet: Fleet) -> None:
    rows = fleet.as_ann(
        "connect", fleet.agent.mac, "--json", stdin=b"config.get\nnope\n"
    ).json_lines()
    steps = [row["name"] for row in rows if row.get("is") == "step"]
    assert steps[0] == "wished"
    assert steps[-1] == "done"
    result, error = (row for row in rows if "is" not in row)
    assert isinstance(result["result"], dict)
    assert isinstance(error["error"], dict)
    assert error["error"]["code"] == -32601
    assert not any("ticket" in json.dumps(row) for row in rows)


@pytest.mark.parametrize(
    ("mac", "code", "said"),
    [("02:fc:00:00:00:99", 4, "is not your device"), ("ff:ff:ff:ff:ff:ff", 2, "MAC")],
)
def test_a_device_that_is_not_there_is_said(mac: str, code: int, said: str, fleet: Fleet) -> None:
    """F6."""
    outcome = fleet.as_ann("rpc", mac, "system.info")
    assert outcome.code == code
    assert said in outcome.complaint()


def test_a_stranger_signs_in_and_out_and_reaches_nothing(fleet: Fleet) -> None:
    """F15: another's device is denied; a revoked token is worth nothing."""
    assert fleet.login("bob").code == 4
    assert fleet.login("bob", "--register").code == 0
    data = fleet.folder / "bob"
    outcome = rookery("rpc", fleet.agent.mac, "system.info", "--data", data)
    assert outcome.code == 4
    assert "not your device" in outcome.complaint()
    claim = rookery("devices", "claim", fleet.agent.mac, "ABCDEFGHIJ", "--data", data)
    assert claim.code == 4
    kept = (data / FILE_NAME).read_text()
    assert rookery("login", "--logout", "--data", data, "--json").json()["is_revoked"] is True
    assert not (data / FILE_NAME).exists()
    (data / FILE_NAME).write_text(kept)
    (data / FILE_NAME).chmod(0o600)
    outcome = rookery("devices", "--data", data)
    assert outcome.code == 4
    assert "rookery login" in outcome.complaint()


def test_a_simulated_fleet_reports_to_the_hub(fleet: Fleet) -> None:
    """F3, F4: real packets; none is lost."""
    options = ["--hub", str(fleet.world.hubs[0].link), "--routers", "30", "--interval", "1"]
    outcome = rookery("fleet", "simulate", *options, "--seconds", "2", "--json")
    result = outcome.json_lines()[-1]
    assert result["is"] == "result"
    assert (result["members"], result["enrolled"], result["waiting"]) == (30, 30, 0)
    assert result["acknowledged"] == result["made"]
    assert outcome.code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["login"], "where"),
        (["login", "http://127.0.0.1:9"], "--login"),
        (["login", "ftp://hub", "--login", "ann"], "URL"),
        (["devices"], "rookery login"),
        (["rpc", "02:fc:00:00:00:01", "system.info", "{"], "no JSON"),
        (["rpc", "02:fc:00:00:00:01", "system.info", "7"], "PARAMS"),
        (["rpc", "nobody", "system.info"], "MAC"),
        (["hub", "--router-within", "0"], "--router-within"),
        (["fleet", "simulate", "--routers", "0"], "--routers"),
        (["fleet", "simulate", "--interval", "0"], "--interval"),
    ],
)
def test_wrong_usage_is_one_line(
    words: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("ROOKERY_PASSWORD", "x")
    monkeypatch.delenv("ROOKERY_TOKEN", raising=False)
    assert main(words) == 2
    captured = capsys.readouterr()
    (line,) = captured.err.splitlines()
    assert said in line
