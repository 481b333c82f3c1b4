"""M4, M5: files copied over a relay by real processes, some of which die in the middle.

    alice ── east ── bob ── folders

Nobody can dial alice or bob; every verb and every node is a process.
"""

import json
import os
import pty
import resource
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from hashlib import blake2b
from pathlib import Path

import pytest

from tests.cli.program import PROGRAM, Outcome, Running, rookery, running
from tests.patience import PATIENCE_S
from tests.runtime.realms import Home, realm

BIG = 48 << 20


class World:
    """Three nodes; bob's may die and come back."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self.inbox, self.docs = folder / "inbox", folder / "docs"
        self.inbox.mkdir()
        self.docs.mkdir()
        self._stack = stack
        self._homes = {home.name: home for home in realm(folder, "east", "alice", "bob")}
        self._options = [f"inbox={self.inbox}:rw", f"docs={self.docs}"]
        self._options += [f"hers={self.docs}:rw from {'a' * 52}"]
        self.nodes: dict[str, Running] = {}
        self._east = self._start("east")
        self._start("alice", "--peer", self._east, "--advertise", "none")
        self.start_bob()
        self.await_bob()

    @property
    def alice(self) -> Home:
        return self._homes["alice"]

    def start_bob(self, *options: str) -> None:
        folders = [word for text in self._options for word in ("--folder", text)]
        self._start("bob", "--peer", self._east, "--advertise", "none", *folders, *options)

    def await_bob(self) -> None:
        until(lambda: self.ask("ping", "bob", "--count", "1").code == 0)

    def kill_bob(self) -> None:
        self.nodes["bob"].signal(signal.SIGKILL)
        self.nodes["bob"].wait()

    def ask(self, verb: str, *words: str | Path) -> Outcome:
        return rookery(verb, *words, "--id", self.alice.keys)

    def _start(self, name: str, *options: str) -> str:
        started = running("node", *self._homes[name].options, *options)
        self.nodes[name] = self._stack.enter_context(started)
        link = self.folder / f"{name}.link"
        link.write_text(self.nodes[name].line())
        return str(link)


def until(condition: Callable[[], bool], pause_s: float = 0.1) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(pause_s)


def size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with ExitStack() as stack:
        yield World(tmp_path_factory.mktemp("copies"), stack)


@pytest.fixture(scope="module")
def big(world: World) -> Path:
    path = world.folder / "big"
    path.write_bytes(os.urandom(BIG))
    return path


def digest(path: Path) -> str:
    return blake2b(path.read_bytes(), digest_size=32).hexdigest()


def test_a_file_goes_up_and_down(world: World, tmp_path: Path) -> None:
    local = tmp_path / "report.pdf"
    local.write_bytes(os.urandom(3_000_000))
    up = world.ask("cp", local, "bob:inbox/")
    assert (up.code, up.err) == (0, "")
    assert up.out.startswith(f"{local} -> bob:inbox/: 3 MB")
    assert (world.inbox / "report.pdf").read_bytes() == local.read_bytes()
    (tmp_path / "there").mkdir()
    down = world.ask("cp", "bob:inbox/report.pdf", tmp_path / "there", "--json")
    *progress, result = down.json_lines()
    assert (tmp_path / "there" / "report.pdf").read_bytes() == local.read_bytes()
    assert {row["is"] for row in progress} == {"progress"}
    assert progress[-1]["bytes"] == progress[-1]["size"] == 3_000_000
    assert (result["is"], result["bytes"], result["kept_bytes"]) == ("copied", 3_000_000, 0)
    assert result["blake2b"] == digest(local)


def test_a_receiver_that_is_killed_goes_on_where_it_stopped(world: World, big: Path) -> None:
    part = world.inbox / ".killed.part"
    with running("cp", big, "bob:inbox/killed", "--id", world.alice.keys) as copy:
        until(lambda: size_of(part) > 0, 0.005)
        world.kill_bob()
        kept = size_of(part)
        world.start_bob()
        assert copy.wait() == 3
        assert "copy once more to go on" in copy.error_line()
    assert not (world.inbox / "killed").exists()
    world.await_bob()
    *_, result = world.ask("cp", big, "bob:inbox/killed", "--json").json_lines()
    assert 0 < kept < BIG
    assert result["kept_bytes"] == kept
    assert digest(world.inbox / "killed") == digest(big) == result["blake2b"]
    assert not part.exists()


def test_a_verb_that_is_killed_goes_on_where_it_stopped(
    world: World, big: Path, tmp_path: Path
) -> None:
    os.link(big, world.docs / "big")
    target, part = tmp_path / "big", tmp_path / ".big.part"
    with running("cp", "bob:docs/big", target, "--id", world.alice.keys) as copy:
        until(lambda: size_of(part) > 0, 0.005)
        copy.signal(signal.SIGKILL)
        copy.wait()
    assert not target.exists()
    *_, result = world.ask("cp", "bob:docs/big", target, "--json").json_lines()
    assert 0 < int(str(result["kept_bytes"])) < BIG
    assert digest(target) == digest(big)


def test_a_part_that_was_tampered_with_is_not_continued(world: World, tmp_path: Path) -> None:
    local = tmp_path / "local"
    local.write_bytes(os.urandom(100_000))
    (world.inbox / ".tampered.part").write_bytes(b"x" + local.read_bytes()[1:50_000])
    *_, result = world.ask("cp", local, "bob:inbox/tampered", "--json").json_lines()
    assert result["kept_bytes"] == 0
    assert (world.inbox / "tampered").read_bytes() == local.read_bytes()


def test_a_source_that_was_changed_is_copied_anew(world: World, tmp_path: Path) -> None:
    local, target = tmp_path / "local", world.inbox / "changed"
    before = os.urandom(100_000)
    (world.inbox / ".changed.part").write_bytes(before[:50_000])
    local.write_bytes(before)
    *_, result = world.ask("cp", local, "bob:inbox/changed", "--json").json_lines()
    assert result["kept_bytes"] == 50_000
    (world.inbox / ".changed.part").write_bytes(before[:50_000])
    local.write_bytes(os.urandom(100_000))
    *_, result = world.ask("cp", local, "bob:inbox/changed", "--json").json_lines()
    assert result["kept_bytes"] == 0
    assert target.read_bytes() == local.read_bytes()


def test_a_disk_that_is_full_keeps_what_arrived_until_there_is_room(
    world: World, tmp_path: Path
) -> None:
    local, part = tmp_path / "local", world.inbox / ".full.part"
    local.write_bytes(os.urandom(4 << 20))
    pid = int(str(rookery("status", "--id", world.folder / "bob", "--json").json()["pid"]))
    limits = resource.prlimit(pid, resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
    try:
        full = world.ask("cp", local, "bob:inbox/full")
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, limits)
    assert full.code == 3
    assert full.complaint() == "rookery: bob:inbox/full: there is no room left on the disk"
    assert 0 < size_of(part) <= 1 << 20
    *_, result = world.ask("cp", local, "bob:inbox/full", "--json").json_lines()
    assert 0 < int(str(result["kept_bytes"])) <= 1 << 20
    assert (world.inbox / "full").read_bytes() == local.read_bytes()


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (["bob:nothing/a", "back"], 4, "no folder of that name"),
        (["bob:hers/a", "back"], 4, "not for us"),
        (["bob:docs/none", "back"], 2, "no such file"),
        (["bob:docs/outside", "back"], 2, "no plain file"),
        (["bob:docs/out/secret", "back"], 2, "no plain file"),
        (["bob:docs/fifo", "back"], 2, "no plain file"),
        (["bob:docs/../secret", "back"], 2, "plain names only"),
        (["local", "bob:docs/a"], 4, "only be read"),
        (["local", "bob:inbox/none/a"], 2, "no such file or folder"),
        (["none", "bob:inbox/a"], 2, "none: there is no such file"),
        (["local", "nobody:inbox/a"], 2, "no other member is called"),
        (["local", "east:inbox/a"], 4, "no folder of that name"),
    ],
)
def test_what_is_not_allowed_is_refused_and_said(
    world: World, words: list[str], code: int, text: str
) -> None:
    (world.folder / "secret").write_text("secret")
    (world.folder / "local").write_text("local")
    if not (world.docs / "out").is_symlink():
        (world.docs / "out").symlink_to(world.folder)
        (world.docs / "outside").symlink_to(world.folder / "secret")
        os.mkfifo(world.docs / "fifo")
    outcome = rookery("cp", *words, "--id", world.alice.keys, cwd=world.folder)
    assert outcome.code == code
    assert text in outcome.complaint()
    assert not (world.folder / "back").exists()
    assert not (world.folder / ".back.part").exists()


def test_a_terminal_shows_how_far_it_got(world: World, big: Path) -> None:
    ours, theirs = pty.openpty()
    words = [str(PROGRAM), "cp", str(big), "bob:inbox/shown", "--id", str(world.alice.keys)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=theirs) as copy:
        os.close(theirs)
        shown = b""
        while select.select([ours], [], [], PATIENCE_S)[0]:
            try:
                shown += os.read(ours, 4096)
            except OSError:  # so Linux says that nobody has the other end any more
                break
        assert copy.wait(PATIENCE_S) == 0
    os.close(ours)
    lines = shown.decode().split("\r\x1b[K")
    assert any("%" in line and "MB of 50.3 MB" in line and "/s" in line for line in lines)
    assert lines[-1] == ""


def test_a_bench_measures_the_way_there_and_back(world: World) -> None:
    world.await_bob()
    rows = world.ask("bench", "bob", "--seconds", "0.5", "--json").json_lines()
    report = rows[-1]
    assert report["is"] == "bench"
    for direction in ("up", "down"):
        flow = report[direction]
        assert isinstance(flow, dict)
        assert flow["size_bytes"] > 0
        assert flow["latency"]["count"] > 0
        assert [way["way"] for way in flow["ways"]] == ["over east"]
        assert flow["ways"][0]["sent_bytes"] >= flow["size_bytes"] * 0.9
    shown = world.ask("bench", "bob", "--seconds", "0.2", "--bytes", "100000")
    assert shown.code == 0
    assert [line.split()[0] for line in shown.out.splitlines()] == [
        "idle",
        "up",
        "over",
        "down",
        "over",
    ]


def test_a_node_without_bench_says_so_and_one_that_is_gone_cannot_be_reached(world: World) -> None:
    world.kill_bob()
    world.start_bob("--no-bench")
    world.await_bob()
    refused = world.ask("bench", "bob", "--seconds", "0.2")
    assert refused.code == 4
    assert "--no-bench" in refused.complaint()
    world.kill_bob()
    (world.folder / "local").write_text("local")

    def is_gone() -> bool:
        rows = [json.loads(line) for line in world.ask("routes", "--json").out.splitlines()]
        return all(row["to"]["name"] != "bob" or row["reach"] == "none" for row in rows)

    until(is_gone)
    outcome = world.ask("cp", world.folder / "local", "bob:inbox/gone")
    assert outcome.code == 3
    assert "no way to bob" in outcome.complaint()
