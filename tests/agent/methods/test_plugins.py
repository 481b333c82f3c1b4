"""Plug-ins by entry point: theirs beside ours, broken ones told of and left out."""

import sys
from pathlib import Path

import pytest

from rookery.agent.methods import plugins
from rookery.agent.methods.catalogue import dispatcher
from rookery.agent.methods.config import AgentConfig, ConfigFile
from rookery.agent.methods.exec import ExecAllowList

MODULE = '''
async def toggle(pin: int, on: bool = True) -> str:
    """Switch a relay."""
    return f"pin {pin} is {'on' if on else 'off'}"

async def untyped(pin):
    return pin

def blocking(pin: int) -> int:
    return pin
'''

POINTS = """[rookery.agent_methods]
relay.toggle = relay_of_tests:toggle
relay.untyped = relay_of_tests:untyped
relay.blocking = relay_of_tests:blocking
relay.missing = relay_of_tests:missing
relay.broken = no_such_module_of_tests:toggle
system.relay = relay_of_tests:toggle

[console_scripts]
relay = relay_of_tests:main
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "relay_of_tests.py").write_text(MODULE)
    information = tmp_path / "relay_of_tests-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: relay\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(POINTS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "relay_of_tests", raising=False)
    return tmp_path


async def test_a_plug_in_adds_methods_and_broken_ones_are_left_out(
    installed: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made = dispatcher(ConfigFile(AgentConfig(), None), ExecAllowList())
    assert "relay.toggle" in made.names
    call = b'{"jsonrpc":"2.0","method":"relay.toggle","params":{"pin":3},"id":1}'
    assert await made.dispatch(call) == b'{"jsonrpc":"2.0","result":"pin 3 is on","id":1}'
    assert not {"relay.untyped", "relay.blocking", "relay.missing", "system.relay"} & set(
        made.names
    )
    told = " ".join(record.getMessage() for record in caplog.records)
    for name in ("untyped", "blocking", "missing", "broken", "system.relay"):
        assert name in told


def test_without_plug_ins_nothing_is_read(tmp_path: Path) -> None:
    found = plugins.load([str(tmp_path), str(tmp_path / "missing")])
    assert found == plugins.AgentPlugins({}, [])


def test_all_methods_are_described(installed: Path) -> None:
    """F11: rpc.discover tells names, parameters and what each does."""
    document = dispatcher(ConfigFile(AgentConfig(), None), ExecAllowList()).discover()
    methods = document["methods"]
    assert isinstance(methods, list)
    assert all(method["summary"] for method in methods)
    ping = next(method for method in methods if method["name"] == "net.ping")
    assert [(each["name"], each["required"]) for each in ping["params"]] == [
        ("host", True),
        ("count", False),
        ("timeout_s", False),
    ]
