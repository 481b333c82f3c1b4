"""`rookery agent`: what it prints, how it stops, why it does not start, and how small it is."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rookery.cli.main import main
from rookery.runtime.endpoint import keystore
from rookery.wire.link.path import net_path
from rookery.wire.link.uri import LinkAddress
from tests.cli.program import running
from tests.fleet.identities import ACCEPTOR, DIALLER
from tests.patience import PATIENCE_S

MAC = "02:fc:00:00:00:01"


@pytest.fixture
def link(tmp_path: Path) -> Path:
    """Of a hub that is away."""
    paths = (net_path("udp", "127.0.0.1", 9), net_path("tcp", "127.0.0.1", 9))
    address = LinkAddress(ACCEPTOR.hashname, dict(ACCEPTOR.keys), paths)
    file = tmp_path / "hub.link"
    file.write_text(json.dumps(address.json()))
    return file


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    keystore.save(tmp_path / "agent", DIALLER)
    return tmp_path / "agent"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_says_who_it_is_and_runs_until_a_signal(
    number: signal.Signals, link: Path, keys: Path
) -> None:
    with running("agent", "--hub", link, "--id", keys, "--mac", MAC.upper()) as agent:
        first = json.loads(agent.line())
        assert first == {
            "v": 1,
            "hashname": DIALLER.hashname,
            "mac": MAC,
            "hub": ACCEPTOR.hashname,
        }
        agent.signal(number)
        assert agent.wait(PATIENCE_S) == 0
        assert agent.error_line() == ""
    assert (keys / "reports.state").stat().st_mode & 0o777 == 0o600


def test_keys_are_made_with_the_first_start(link: Path, tmp_path: Path) -> None:
    with running("agent", "--hub", link, "--id", tmp_path / "new", "--keep", "memory") as agent:
        hashname = json.loads(agent.line())["hashname"]
        agent.signal(signal.SIGTERM)
        assert agent.wait(PATIENCE_S) == 0
    identity = keystore.load(tmp_path / "new")
    assert identity.hashname == hashname
    assert set(identity.keys) == {0x40, 0x2A}
    assert not (tmp_path / "new" / "reports.state").exists()


def test_an_idle_agent_is_small(link: Path, keys: Path) -> None:
    """Below 45 MB, for it runs on devices."""
    with running("agent", "--hub", link, "--id", keys, "--mac", MAC) as agent:
        agent.line()
        pages = int(Path(f"/proc/{agent.pid}/statm").read_text().split()[1])
        assert pages * os.sysconf("SC_PAGE_SIZE") < 45 << 20


def test_an_agent_loads_neither_sql_nor_web() -> None:
    program = "import sys, rookery.cli.fleet.agent; print(*sys.modules)"
    printed = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, timeout=PATIENCE_S
    ).stdout.decode()
    roots = {name.partition(".")[0] for name in printed.split()}
    assert "psutil" in roots
    assert not roots & {"sqlalchemy", "sqlite3", "litestar", "uvicorn", "redis", "jinja2", "http"}
    assert not {"rookery.runtime.endpoint.endpoint", "rookery.runtime.control.client"} & set(
        printed.split()
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--mac", "01:02:03"], "MAC"),
        (["--mac", "ff:ff:ff:ff:ff:ff"], "MAC"),
        (["--interval", "0"], "--interval"),
        (["--claim-file", "missing"], "cannot read the code"),
        (["--allow-exec", "missing"], "allow list"),
        (["--disk", "/no/such/place"], "/no/such/place"),
        (["--hub", "nobody"], "no link and no file"),
        (["--hub", DIALLER.hashname], "lacks its keys"),
        (["--id", "identity"], "lack cipher set 2a"),
    ],
)
def test_what_keeps_it_from_starting_is_one_line(
    options: list[str],
    said: str,
    link: Path,
    keys: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    keystore.create(tmp_path / "identity", [0x40])
    base = {"--hub": str(link), "--id": str(keys), "--mac": MAC}
    base.update(zip(options[::2], options[1::2], strict=True))
    assert main(["agent", *(word for pair in base.items() for word in pair)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert said in line


@pytest.mark.parametrize("code", ["ABCD", "ABCD-EFGH-IJKL-MNO1"])
def test_a_code_that_is_none_is_said(
    code: str, link: Path, keys: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "code").write_text(code)
    options = ["--hub", str(link), "--id", str(keys), "--mac", MAC]
    assert main(["agent", *options, "--claim-file", str(tmp_path / "code")]) == 2
    assert "code" in capsys.readouterr().err
