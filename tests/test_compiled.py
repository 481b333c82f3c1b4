"""The compiled cores do what the interpreted ones do: the same tests run against them."""

import os
import re
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from hatch_build import MODULES, missing, sources

ROOT = Path(__file__).parent.parent

# A fair part of the tests of what is compiled, without those that take long.
TESTED = (
    "tests/wire/test_cloak.py",
    "tests/wire/test_crow_packet.py",
    "tests/wire/test_frame.py",
    "tests/wire/test_outbox.py",
    "tests/wire/test_outbox_reader.py",
    "tests/wire/test_tunnel.py",
    "tests/crow/test_captures.py",
    "tests/crow/test_cpp_defects.py",
    "tests/crow/test_delivery.py",
    "tests/crow/test_duplicates.py",
    "tests/crow/test_lanes.py",
    "tests/crow/test_node.py",
    "tests/crow/test_recent.py",
    "tests/crow/test_seqids.py",
    "tests/crow/test_tower.py",
    "tests/fleet/test_lineage.py",
    "tests/fleet/test_report_desk.py",
    "tests/fleet/test_report_lane.py",
    "tests/fleet/test_secret_cache.py",
    "tests/fleet/test_secrets.py",
    "tests/hub/test_datagram_port.py",
    "tests/hub/test_recent.py",
    "tests/hub/test_report_flow.py",
    "tests/hub/test_reports.py",
    "tests/identity/test_cs40.py",
    "tests/identity/test_replay.py",
    "tests/link/test_frames.py",
    "tests/link/test_link.py",
    "tests/mesh/test_forwarding.py",
    "tests/mesh/test_forwarding_repair.py",
    "tests/mesh/test_forwarding_vectors.py",
    "tests/mesh/test_neighbour.py",
    "tests/mesh/test_node.py",
    "tests/mesh/test_standing_queue.py",
    "tests/mesh/test_transit.py",
    "tests/mesh/tunnel/test_abuse.py",
    "tests/mesh/tunnel/test_congestion.py",
    "tests/mesh/tunnel/test_inbound.py",
    "tests/mesh/tunnel/test_multipath.py",
    "tests/mesh/tunnel/test_outbound.py",
    "tests/mesh/tunnel/test_outflow.py",
    "tests/mesh/tunnel/test_receiving.py",
    "tests/mesh/tunnel/test_sending.py",
    "tests/mesh/tunnel/test_stall.py",
    "tests/mesh/tunnel/test_tunnel.py",
    "tests/mesh/tunnel/test_tunnels.py",
    "tests/outbox/test_intake.py",
    "tests/outbox/test_lists.py",
    "tests/outbox/test_outbox.py",
    "tests/outbox/test_request.py",
    "tests/outbox/test_session.py",
    "tests/outbox/test_state_machine.py",
    "tests/runtime/crow/test_gate.py",
    "tests/runtime/crow/test_outcomes.py",
    "tests/runtime/crow/test_pump.py",
    "tests/runtime/crow/test_tower.py",
    "tests/runtime/crow/test_udp_gate.py",
    "tests/runtime/gates/test_framing.py",
    "tests/runtime/gates/test_segmentation.py",
    "tests/runtime/gates/test_udp_gate.py",
    "tests/runtime/outbox/test_outbox.py",
    "tests/runtime/proxy/test_sluice.py",
    "tests/runtime/test_passage.py",
    "tests/runtime/test_pump.py",
    "tests/runtime/test_residence.py",
    "tests/runtime/test_tunnels.py",
)

_NOT_FINAL = re.compile(r"^_?[A-Z][A-Z0-9_]* = .*", re.MULTILINE)
_TOO_LONG = {"replay.py"}  # a number of thousands of digits, which mypyc would have to write down

_WHERE = "import importlib, sys; [print(importlib.import_module(n).__file__) for n in sys.argv[1:]]"


def test_every_compiled_module_is_there() -> None:
    assert [path for path in sources() if not path.is_file()] == []


def test_constants_of_compiled_modules_are_not_looked_up_by_name() -> None:
    looked_up = {
        path.name: found
        for path in sources()
        if path.name not in _TOO_LONG and (found := _NOT_FINAL.findall(path.read_text()))
    }
    assert looked_up == {}


@pytest.mark.slow
@pytest.mark.xdist_group("compiled")
def test_the_tests_of_compiled_modules_pass_against_what_was_compiled(tmp_path: Path) -> None:
    if (lack := missing()) is not None and os.environ.get("CI") != "true":
        pytest.skip(f"nothing can be compiled: there is {lack}")
    _run([sys.executable, "hatch_build.py", str(tmp_path / "compiled"), "--optimisation", "0"])
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "compiled")}
    names = [f"rookery.{package}.{name}" for package, names in MODULES.items() for name in names]
    files = _run([sys.executable, "-c", _WHERE, *names], environment).split()
    assert [path for path in files if not path.endswith(tuple(EXTENSION_SUFFIXES))] == []
    options = ["-q", "-n", "2", "-p", "no:cacheprovider", "-m", "not slow and not interpreted"]
    _run([sys.executable, "-m", "pytest", *options, *TESTED], environment)


def _run(command: list[str], environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, f"{done.stdout[-6000:]}\n{done.stderr[-2000:]}"
    return done.stdout
