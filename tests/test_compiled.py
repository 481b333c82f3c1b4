"""The compiled cores do what the interpreted ones do: the same tests run against them."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from hashlib import sha256
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from build_cores.library import present
from build_cores.modules import MODULES, SOURCES, sources, used
from build_cores.toolchain import SUFFIX, missing

ROOT = Path(__file__).parent.parent

# A fair part of the tests of what is compiled, without those that take long.
TESTED = (
    "tests/wire/link/test_cloak.py",
    "tests/wire/crow/test_node.py",
    "tests/wire/crow/test_packet.py",
    "tests/wire/crow/test_pubsub.py",
    "tests/wire/link/test_framing.py",
    "tests/wire/outbox/test_frames.py",
    "tests/wire/outbox/test_reader.py",
    "tests/wire/mesh/test_tunnel_packet.py",
    "tests/crow/pubsub/test_broker.py",
    "tests/crow/pubsub/test_broker_node.py",
    "tests/crow/test_captures.py",
    "tests/crow/nodes/test_reassembly.py",
    "tests/crow/pubsub/test_clients.py",
    "tests/crow/test_cpp_defects.py",
    "tests/crow/tower/test_delivery.py",
    "tests/crow/tower/test_duplicates.py",
    "tests/crow/test_timer_queues.py",
    "tests/crow/nodes/test_nodes.py",
    "tests/crow/pubsub/test_client_node.py",
    "tests/crow/tower/test_recent_packets.py",
    "tests/crow/tower/test_sequence_ids.py",
    "tests/crow/pubsub/test_subscriber.py",
    "tests/crow/pubsub/test_themes.py",
    "tests/crow/tower/test_tower.py",
    "tests/fleet/reports/test_replay_window.py",
    "tests/fleet/reports/test_report_validator.py",
    "tests/fleet/reports/test_report_fast_path.py",
    "tests/fleet/enrolment/test_secret_cache.py",
    "tests/fleet/enrolment/test_secrets.py",
    "tests/hub/reports/test_datagram_socket.py",
    "tests/hub/reports/test_recent_telemetry.py",
    "tests/hub/reports/test_report_flow.py",
    "tests/hub/reports/test_reports.py",
    "tests/identity/test_cs40.py",
    "tests/identity/test_cs40_session.py",
    "tests/identity/test_replay.py",
    "tests/link/test_endpoint_frames.py",
    "tests/link/test_link.py",
    "tests/link/session/test_renewal.py",
    "tests/mesh/routing/test_forwarding.py",
    "tests/mesh/routing/test_forwarding_repair.py",
    "tests/mesh/routing/test_forwarding_vectors.py",
    "tests/mesh/membership/test_neighbour.py",
    "tests/mesh/test_node.py",
    "tests/mesh/quality/test_standing_queue.py",
    "tests/mesh/routing/test_data_plane.py",
    "tests/mesh/tunnel/test_abuse.py",
    "tests/mesh/tunnel/paths/test_congestion.py",
    "tests/mesh/tunnel/paths/test_inbound_path.py",
    "tests/mesh/tunnel/test_multipath.py",
    "tests/mesh/tunnel/paths/test_outbound_path.py",
    "tests/mesh/tunnel/streams/test_stream_output.py",
    "tests/mesh/tunnel/streams/test_receive_half.py",
    "tests/mesh/tunnel/streams/test_send_half.py",
    "tests/mesh/tunnel/test_stall.py",
    "tests/mesh/tunnel/test_tunnel.py",
    "tests/mesh/tunnel/test_tunnels.py",
    "tests/outbox/test_intake.py",
    "tests/outbox/test_lists.py",
    "tests/outbox/test_outbox.py",
    "tests/outbox/test_request.py",
    "tests/outbox/test_session.py",
    "tests/outbox/test_state_machine.py",
    "tests/runtime/crow/test_broker.py",
    "tests/runtime/crow/test_client.py",
    "tests/runtime/crow/gates/test_gate.py",
    "tests/runtime/crow/test_pending_outcomes.py",
    "tests/runtime/crow/test_pump.py",
    "tests/runtime/crow/test_tower.py",
    "tests/runtime/crow/gates/test_udp_gate.py",
    "tests/runtime/endpoint/gates/test_burst_socket.py",
    "tests/runtime/endpoint/gates/test_framing.py",
    "tests/runtime/endpoint/gates/test_segmentation.py",
    "tests/runtime/endpoint/gates/test_udp_gate.py",
    "tests/runtime/endpoint/gates/test_unix_gate.py",
    "tests/runtime/endpoint/gates/test_websocket.py",
    "tests/runtime/outbox/test_outbox.py",
    "tests/runtime/proxy/test_direct_copy.py",
    "tests/runtime/proxy/test_loop_turns.py",
    "tests/runtime/endpoint/test_pump.py",
    "tests/runtime/node/test_driver.py",
    "tests/runtime/tunnels/test_tunnels.py",
)

_NOT_FINAL = re.compile(r"^_?[A-Z][A-Z0-9_]* = .*", re.MULTILINE)
_TOO_LONG = {"replay.py"}  # a number of thousands of digits, which mypyc would have to write down

UNOPTIMISED = {"CFLAGS": "-O0 -UNDEBUG", "ROOKERY_COMPILED": ""}

_HATCHLING = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d"]
_VERSION = "import sys; from rookery.cli.main import main; sys.exit(main(['--version']))"
_WHERE = "import importlib, sys; [print(importlib.import_module(n).__file__) for n in sys.argv[1:]]"


def test_every_compiled_module_is_there() -> None:
    assert [path for path in sources() if not path.is_file()] == []


def test_what_is_compiled_in_is_known() -> None:
    """Constants of other modules, too: a change of them must be compiled anew."""
    names = {path.relative_to(SOURCES / "rookery").as_posix() for path in used()}
    assert {"wire/link/framing.py", "crow/limits.py", "errors.py"} <= names
    assert not any(name.startswith(("cli/", "web/", "lake/")) for name in names)


def test_constants_of_compiled_modules_are_not_looked_up_by_name() -> None:
    looked_up = {
        path.name: found
        for path in sources()
        if path.name not in _TOO_LONG and (found := _NOT_FINAL.findall(path.read_text()))
    }
    assert looked_up == {}


@pytest.fixture(scope="module")
def compiled() -> Path:
    """The package with extension modules. What is kept of it serves the next time, too."""
    if (lack := missing()) is not None and os.environ.get("CI") != "true":
        pytest.skip(f"nothing can be compiled: there is {lack}")
    folder = ROOT / "build" / "tested"
    _run([sys.executable, "-m", "build_cores", str(folder)], UNOPTIMISED)
    return folder


@pytest.mark.slow
@pytest.mark.xdist_group("compiled")
def test_the_tests_of_compiled_modules_pass_against_what_was_compiled(compiled: Path) -> None:
    path = {"PYTHONPATH": str(compiled)}
    names = [f"rookery.{package}.{name}" for package, names in MODULES.items() for name in names]
    files = _run([sys.executable, "-c", _WHERE, *names], path).split()
    assert [path for path in files if not path.endswith(tuple(EXTENSION_SUFFIXES))] == []
    options = ["-q", "-n", "2", "-p", "no:cacheprovider", "-m", "not slow and not interpreted"]
    _run([sys.executable, "-m", "pytest", *options, *TESTED], path)


def test_the_package_with_extension_modules_has_the_sources_as_they_are(tmp_path: Path) -> None:
    extension_modules, folder = tmp_path / "kept" / "lib", tmp_path / "package"
    extension = extension_modules / "rookery" / "wire" / f"frame{SUFFIX}"
    extension.parent.mkdir(parents=True)
    extension.touch()
    stale = folder / "rookery" / "wire" / f"gone{SUFFIX}"
    stale.parent.mkdir(parents=True)
    stale.symlink_to(extension)
    present(folder, extension_modules)
    assert (folder / "rookery" / "wire" / extension.name).samefile(extension)
    assert not stale.is_symlink()
    found = {path.relative_to(folder) for path in folder.rglob("*.py")}
    assert found == {path.relative_to(SOURCES) for path in SOURCES.rglob("*.py")}
    assert all((folder / name).samefile(SOURCES / name) for name in found)


@pytest.mark.slow
@pytest.mark.xdist_group("compiled")
def test_a_wheel_has_what_was_compiled_and_is_the_same_each_time(
    compiled: Path, tmp_path: Path
) -> None:
    first, second = (_wheel(tmp_path / name, UNOPTIMISED) for name in ("first", "second"))
    assert first.name == second.name
    assert not first.name.endswith("-none-any.whl")
    assert sha256(first.read_bytes()).digest() == sha256(second.read_bytes()).digest()
    with zipfile.ZipFile(first) as archive:
        names = {name for name in archive.namelist() if name.endswith(SUFFIX)}
        archive.extractall(tmp_path / "site")
    assert names == {str(path.relative_to(compiled)) for path in compiled.rglob(f"*{SUFFIX}")}
    assert len(names) == len(sources()) + 1
    said = _run([sys.executable, "-c", _VERSION], {"PYTHONPATH": str(tmp_path / "site")})
    assert said.startswith("rookery 0.1.0 (compiled, Python 3.")


@pytest.mark.slow
@pytest.mark.xdist_group("compiled")
def test_what_is_compiled_knows_nothing_of_where_that_was(tmp_path: Path) -> None:
    """Two copies of the sources in folders of different names, and a few modules, to save time."""
    if (lack := missing()) is not None and os.environ.get("CI") != "true":
        pytest.skip(f"nothing can be compiled: there is {lack}")
    digests = [_digests(tmp_path / name) for name in ("here", "somewhere/else")]
    assert digests[0] == digests[1]
    assert len(digests[0]) == 3


@pytest.mark.slow
def test_where_nothing_can_be_compiled_a_wheel_is_pure_and_says_why(tmp_path: Path) -> None:
    no_compiler = {"PATH": str(tmp_path), "CC": ""}
    wheel = _wheel(tmp_path / "dist", no_compiler)
    assert wheel.name == "rookery-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    said = _run([sys.executable, "-c", _VERSION], {"PYTHONPATH": str(tmp_path / "site")})
    assert said.startswith("rookery 0.1.0 (pure Python 3.")
    assert said.endswith(": no C compiler)\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wish", "complaint"),
    [
        ("1", "ROOKERY_COMPILED=1, but rookery cannot be compiled: no C compiler"),
        ("yes", "ROOKERY_COMPILED=yes: give 0 or 1"),
    ],
)
def test_a_wish_that_cannot_be_fulfilled_is_an_error_of_one_line(
    wish: str, complaint: str, tmp_path: Path
) -> None:
    done = subprocess.run(
        [*_HATCHLING, str(tmp_path)],
        cwd=ROOT,
        env=os.environ | {"PATH": str(tmp_path), "CC": "", "ROOKERY_COMPILED": wish},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == complaint
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_what_mypyc_refuses_is_installed_uncompiled(tmp_path: Path) -> None:
    root = _copy(tmp_path / "root")
    source = root / "src" / "rookery" / "wire" / "link" / "framing.py"
    source.write_text(source.read_text() + "\nWRONG: int = 'text'\n")
    with zipfile.ZipFile(_wheel(tmp_path / "dist", root=root)) as archive:
        reason = archive.read("rookery/not_compiled.txt").decode()
    assert reason.startswith("mypyc: src/rookery/wire/link/framing.py:")


def _wheel(
    folder: Path, environment: Mapping[str, str] | None = None, *, root: Path = ROOT
) -> Path:
    _run([*_HATCHLING, str(folder)], environment, root=root)
    (wheel,) = folder.glob("*.whl")
    return wheel


def _copy(root: Path) -> Path:
    """The sources, of which two modules are compiled."""
    root.mkdir(parents=True)
    for name in ("src", "build_cores"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("hatch_build.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, root)
    with (root / "build_cores" / "modules.py").open("a") as modules:
        modules.write('\nMODULES = {"wire.link": ("framing",), "crow.tower": ("sequence_ids",)}\n')
    return root


def _digests(root: Path) -> dict[str, str]:
    folder = Path(_run([sys.executable, "-m", "build_cores"], root=_copy(root)).strip())
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in folder.rglob(f"*{SUFFIX}")}


def _run(
    command: list[str], environment: Mapping[str, str] | None = None, *, root: Path = ROOT
) -> str:
    done = subprocess.run(
        command,
        cwd=root,
        env=os.environ | dict(environment or {}),
        capture_output=True,
        text=True,
        timeout=1800,
    )
    assert done.returncode == 0, f"{done.stdout[-6000:]}\n{done.stderr[-2000:]}"
    return done.stdout
