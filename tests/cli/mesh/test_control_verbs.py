"""Verbs that ask a node through its control socket: what they print and how they end."""

import json
import os
import pty
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from rookery.cli.main import main
from rookery.runtime.node.members import Reachability
from rookery.runtime.node.snapshot import NetCheckItem, NetCheckResult, PingReply
from rookery.wire.link.lob import JsonObject
from tests.cli.mesh.control_thread import controlled
from tests.cli.program import PROGRAM, rookery, running
from tests.patience import PATIENCE_S
from tests.runtime.colony import BOB, CAROL, STATUS, Colony

Captured = pytest.CaptureFixture[str]

VERBS = [
    ["status"],
    ["peers"],
    ["routes"],
    ["ping", "bob"],
    ["trace", "carol"],
    ["explain", "carol"],
    ["explain", "carol", "--from", "bob"],
    ["graph"],
    ["netcheck"],
    ["top", "--count", "1"],
]


@pytest.fixture
def colony() -> Colony:
    return Colony()


@pytest.fixture
def folder(colony: Colony, tmp_path: Path) -> Iterator[Path]:
    """As `--id` names it."""
    with controlled(colony, tmp_path / "control.sock"):
        yield tmp_path


def requests(folder: Path, *arguments: str) -> int:
    return main([*arguments, "--id", str(folder)])


def json_lines(captured: Captured) -> list[JsonObject]:
    lines: list[JsonObject] = [json.loads(line) for line in captured.readouterr().out.splitlines()]
    assert lines
    assert all(line["v"] == 1 for line in lines)
    return lines


# --- all of them ---


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_no_node_is_exit_code_3_and_says_what_to_try(
    verb: list[str], tmp_path: Path, capsys: Captured
) -> None:
    assert requests(tmp_path, *verb) == 3
    captured = capsys.readouterr()
    (line,) = captured.err.splitlines()
    assert captured.out == ""
    assert "no node is running" in line
    assert "rookery node --id" in line


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_every_verb_answers_people_and_programs(
    verb: list[str], folder: Path, capsys: Captured
) -> None:
    assert requests(folder, *verb) == 0
    assert capsys.readouterr().out
    assert requests(folder, *verb, "--json") == 0
    assert all("is" in line for line in json_lines(capsys))


@pytest.mark.parametrize("verb", ["ping", "trace", "explain"])
@pytest.mark.parametrize("node", ["nobody", "cccccccc"])
def test_a_name_for_none_or_many_is_wrong_usage(
    verb: str, node: str, folder: Path, capsys: Captured
) -> None:
    assert requests(folder, verb, node) == 2
    assert node in capsys.readouterr().err


def test_the_socket_may_be_named_in_three_ways(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(folder / "control.sock")
    assert main(["status", "--control", path]) == 0
    monkeypatch.setenv("ROOKERY_CONTROL", path)
    assert main(["status"]) == 0
    assert main(["status", "--control", "elsewhere"]) == 3
    monkeypatch.delenv("ROOKERY_CONTROL")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "rookery").symlink_to(folder)
    assert main(["status"]) == 0


def test_no_time_to_answer_is_wrong_usage(folder: Path) -> None:
    assert requests(folder, "status", "--timeout", "0") == 2


def test_a_name_cannot_steer_the_terminal(colony: Colony, folder: Path, capsys: Captured) -> None:
    colony.changed(name="\x1b[2Jgone", problems=("\x1b]0;x\x07",), is_ready=False)
    for verb in (["status"], ["top", "--count", "1"]):
        assert requests(folder, *verb) == 0
        assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize("verb", ["status", "peers", "routes"])
def test_what_moves_can_be_watched(verb: str, folder: Path) -> None:
    with running(verb, "--id", folder, "--watch", "--json") as watching:
        first = watching.line()
        while watching.line() != first:  # the other rows of the first look
            pass
        watching.signal(signal.SIGINT)
        assert watching.wait(PATIENCE_S) == 0


# --- status ---


@pytest.mark.parametrize(
    ("changes", "plain", "live", "ready", "said"),
    [
        ({}, 0, 0, 0, "ready"),
        ({"is_ready": False, "problems": ("no peer is up",)}, 0, 0, 1, "not ready: no peer is up"),
        ({"worked_ago_s": 90.0}, 5, 5, 5, "stuck: it has not seen to its links for 1 min 30 s"),
    ],
)
def test_a_check_is_an_exit_code(
    changes: dict[str, object],
    plain: int,
    live: int,
    ready: int,
    said: str,
    colony: Colony,
    folder: Path,
    capsys: Captured,
) -> None:
    colony.changed(**changes)
    assert requests(folder, "status") == plain
    assert said in capsys.readouterr().out.splitlines()[0]
    assert requests(folder, "status", "--check", "live") == live
    capsys.readouterr()
    assert requests(folder, "status", "--check", "ready") == ready
    assert capsys.readouterr().out == f"{said}\n"


def test_status_shows_the_node_and_its_reach(folder: Path, capsys: Captured) -> None:
    assert requests(folder, "status") == 0
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert lines["name"] == "alice"
    assert lines["realm"] == "home"
    assert lines["peers"] == "1 up of 2"
    assert lines["members"] == "3 reachable of 4 others"
    assert lines["certificate"].startswith("until 2027-01-15 08:00 UTC, 1157 d")
    assert lines["running"].startswith("1 d 2 h, process 4242")


def test_an_ended_certificate_is_said_to_be(colony: Colony, folder: Path, capsys: Captured) -> None:
    colony.changed(certificate_ends_at=1_600_000_000)
    assert requests(folder, "status") == 0
    assert "which is past" in capsys.readouterr().out


def test_status_as_json_is_the_row_of_the_socket(folder: Path) -> None:
    value = rookery("status", "--id", folder, "--json").json()
    assert value["is"] == "status"
    assert value["hashname"] == STATUS.hashname


# --- peers and routes ---


def test_each_peer_has_a_row_and_its_last_error(folder: Path, capsys: Captured) -> None:
    assert requests(folder, "peers") == 0
    _, _, _, bob, dave, *_ = capsys.readouterr().out.splitlines()
    assert bob.split()[:4] == ["bob", "up", "tcp4", "0.41"]
    assert "0 % / 1 %" in bob
    assert "12 MB/s" in bob
    assert dave.split()[:3] == ["dddddddd", "down", "–"]
    assert "the last path is gone" in dave


def test_paths_are_shown_on_demand(folder: Path, capsys: Captured) -> None:
    assert requests(folder, "peers", "--paths") == 0
    printed = capsys.readouterr().out
    assert "tcp4 (used)" in printed
    assert "no answer to 1200 bytes" in printed


def test_peers_as_json_come_one_a_line(folder: Path, capsys: Captured) -> None:
    assert requests(folder, "peers", "--json") == 0
    bob, dave = json_lines(capsys)
    assert bob["node"] == {"hashname": BOB.hashname, "name": "bob"}
    assert dave["last_error"] == "the last path is gone"


def test_a_node_alone(colony: Colony, folder: Path, capsys: Captured) -> None:
    colony.now_peers, colony.now_routes = (), ()
    assert requests(folder, "peers") == 0
    assert requests(folder, "routes") == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "--peer" in captured.err
    assert "no other members" in captured.err


def test_routes_show_the_route_and_its_alternates(folder: Path, capsys: Captured) -> None:
    assert requests(folder, "routes") == 0
    _, _, _, bob, carol, dave, *_ = capsys.readouterr().out.splitlines()
    assert bob.split()[:3] == ["bob", "direct", "bob"]
    assert "bob → carol" in carol
    assert "caroline → carol (5.10 ms)" in carol
    assert "nobody has a link with it" in dave


# --- ping ---


def lost() -> PingReply:
    return PingReply(to=BOB, reach=Reachability.NONE, problem="no way there")


def routed(rtt_ms: float) -> PingReply:
    return PingReply(to=BOB, reach=Reachability.ROUTE, rtt_ms=rtt_ms, over="carol → bob")


def direct(rtt_ms: float) -> PingReply:
    return PingReply(to=BOB, reach=Reachability.DIRECT, rtt_ms=rtt_ms, over="tcp4:127.0.0.1:7002")


def test_ping_goes_on_until_the_path_is_direct(
    colony: Colony, folder: Path, capsys: Captured
) -> None:
    colony.pings = [lost(), routed(30.0), direct(10.0), direct(1.0)]
    assert requests(folder, "ping", "bob", "--interval", "0") == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines() == [
        "no answer from bob: no way there",
        "answer from bob in 30.0 ms, route over carol → bob",
        "answer from bob in 10.0 ms, direct over tcp4:127.0.0.1:7002",
    ]
    assert captured.err == ("2 of 3 answered; least, average, most: 10.0 ms, 20.0 ms, 30.0 ms\n")


def test_ping_can_be_told_not_to_stop(colony: Colony, folder: Path, capsys: Captured) -> None:
    options = ["--interval", "0", "--count", "3", "--no-until-direct", "--json"]
    assert requests(folder, "ping", "bob", *options) == 0
    assert [line["rtt_ms"] for line in json_lines(capsys)] == [0.4] * 3
    assert capsys.readouterr().err == ""


def test_ping_without_a_direct_path_says_where_to_look(
    colony: Colony, folder: Path, capsys: Captured
) -> None:
    colony.pings = [routed(5.0)]
    assert requests(folder, "ping", "bob", "--interval", "0", "--count", "2") == 0
    assert "rookery netcheck" in capsys.readouterr().err


def test_ping_without_any_answer_is_exit_code_3(
    colony: Colony, folder: Path, capsys: Captured
) -> None:
    colony.pings = [lost()]
    assert requests(folder, "ping", "bob", "--interval", "0", "--count", "2") == 3
    assert capsys.readouterr().err == "0 of 2 answered\n"


def test_pings_are_spaced(colony: Colony, folder: Path) -> None:
    colony.pings = [routed(1.0)]
    with running("ping", "bob", "--id", folder, "--interval", "60") as ping:
        assert ping.line().startswith("answer from bob")
        ping.signal(signal.SIGINT)
        assert ping.wait(PATIENCE_S) == 130
    assert len(colony.requests) == 1


@pytest.mark.parametrize("options", [["--count", "0"], ["--interval", "-1"]])
def test_ping_of_no_sense_is_wrong_usage(options: list[str], folder: Path) -> None:
    assert requests(folder, "ping", "bob", *options) == 2


# --- trace, explain, netcheck ---


def test_trace_shows_hop_by_hop(folder: Path, capsys: Captured) -> None:
    assert requests(folder, "trace", "carol", "--probes", "2") == 0
    first, second = (line.split() for line in capsys.readouterr().out.splitlines())
    assert first == ["1", "bob", "bbbbbbbb", "0.40", "ms", "0.40", "ms"]
    assert second == ["2", "carol", CAROL.hashname[:8], "*", "1.10", "ms"]


def test_a_trace_that_does_not_arrive_is_exit_code_3(folder: Path, capsys: Captured) -> None:
    assert requests(folder, "trace", "dddddddd") == 3
    assert "no way to dddddddd" in capsys.readouterr().err
    assert requests(folder, "trace", "carol", "--probes", "1") == 3
    assert "rookery explain carol" in capsys.readouterr().err


def test_a_trace_of_too_many_probes_is_wrong_usage(folder: Path) -> None:
    assert requests(folder, "trace", "carol", "--probes", "1000") == 2


def test_explain_prints_its_lines_or_the_decision(folder: Path, capsys: Captured) -> None:
    assert requests(folder, "explain", "carol") == 0
    assert "candidate 2 lost" in capsys.readouterr().out
    assert requests(folder, "explain", "carol", "--json") == 0
    (line,) = json_lines(capsys)
    assert isinstance(line["decision"], dict)
    assert line["decision"]["chosen"] == 0


def test_netcheck_advises_and_fails_only_on_failures(
    colony: Colony, folder: Path, capsys: Captured
) -> None:
    assert requests(folder, "netcheck") == 0
    assert "let UDP through" in capsys.readouterr().out
    failed = NetCheckItem(
        check="certificate", finding=NetCheckResult.FAILED, found="ended", advice="…"
    )
    colony.checks = (failed,)
    assert requests(folder, "netcheck") == 1


# --- top ---


def test_top_without_a_terminal_prints_one_frame(folder: Path) -> None:
    outcome = rookery("top", "--id", folder)
    assert (outcome.code, outcome.err) == (0, "")
    header = outcome.out.splitlines()[0]
    assert header.startswith("alice · ready · realm home · up 1 d 2 h · peers 1/2")
    assert "2 MB" in outcome.out
    assert "packets: forwarded 7, sent 12   refused frames: 3   dropped: no route 2" in outcome.out


def test_top_prints_as_many_frames_as_wished(folder: Path) -> None:
    outcome = rookery("top", "--id", folder, "--count", "2", "--interval", "0.01")
    assert outcome.out.count("alice · ready") == 2
    assert "0 B/s" in outcome.out


def test_top_streams_snapshots_for_programs(folder: Path) -> None:
    with running("top", "--id", folder, "--json", "--interval", "0.01") as top:
        lines = [json.loads(top.line()) for _ in range(3)]
        top.signal(signal.SIGTERM)
        assert top.wait(PATIENCE_S) == 0
    for line in lines:
        assert (line["v"], line["is"]) == (1, "snapshot")
        assert line["status"]["name"] == "alice"
        assert [peer["node"]["name"] for peer in line["peers"]] == ["bob", ""]
        assert line["counters"]["packets"] == {"sent": 12, "forwarded": 7}


@pytest.mark.parametrize("ending", [b"q", b"\x03"])
def test_top_on_a_terminal_ends_with_q_or_ctrl_c(
    ending: bytes, folder: Path, colony: Colony
) -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [PROGRAM, "top", "--id", folder, "--interval", "60"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=lambda: _own_terminal(theirs),
        env={**os.environ, "TERM": "xterm", "COLUMNS": "120", "LINES": "30"},
    ) as top:
        os.close(theirs)
        try:
            seen = _until(ours, b"q: quit")
            assert b"by traffic" in seen
            os.write(ours, b"l")
            assert b"by loss" in _until(ours, b"q: quit")
            os.write(ours, ending)
            _until(ours, b"\x1b[?1049l")  # the screen as it was before
            assert top.wait(PATIENCE_S) == 0
        finally:
            top.kill()
            os.close(ours)


def _own_terminal(descriptor: int) -> None:
    import fcntl
    import termios

    fcntl.ioctl(descriptor, termios.TIOCSCTTY, 0)


def _until(descriptor: int, mark: bytes) -> bytes:
    seen = b""
    while mark not in seen:
        seen += os.read(descriptor, 1 << 16)
    return seen


def test_a_top_of_no_sense_is_wrong_usage(folder: Path) -> None:
    assert requests(folder, "top", "--interval", "0") == 2
    assert requests(folder, "top", "--count", "0") == 2
    assert requests(folder, "top", "--sort", "name") == 2
