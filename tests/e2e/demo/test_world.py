"""The demo's world from end to end, without its lake: pages, incident, Ctrl-C, and once more."""

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.error import HTTPError

import psutil
import pytest

from rookery.cli.demo.site_plan import DEVICES, NODES, RELAY, WATCHED
from tests.e2e.demo.living import STOP_S, Living, eventually, living

pytestmark = [pytest.mark.xdist_group("demo"), pytest.mark.slow]

PAGES = ("/", "/fleet", "/fleet/map", "/fleet/matrix", "/fleet/servers", "/fleet/incidents")
MEMORY_MAX = 700 << 20  # without Spark


def way(demo: Living) -> list[str]:
    """Over whom packets go between the two whom the tour watches."""
    one, other = WATCHED
    told = demo.run("explain", other, "--id", f".demo/{one}")
    line = next(line for line in told.splitlines() if line.startswith(f"to {other}: "))
    return line.partition(": ")[2].split(" – ")


def reaches(demo: Living) -> bool:
    one, other = WATCHED
    told = demo.run("trace", other, "--id", f".demo/{one}", "--json")
    return other in told


def check_that_nothing_is_left(demo: Living, processes: list[psutil.Process]) -> None:
    _, alive = psutil.wait_procs(processes, timeout=STOP_S)
    assert not alive
    assert {each.name for each in demo.home.iterdir()} <= {".demo", "errors", "tmp"}
    assert not list((demo.home / "tmp").iterdir())
    assert not (demo.folder / "demo.sock").exists()
    assert (demo.home / "errors").read_text() == ""


def test_a_world_comes_up_lives_with_an_incident_and_goes(tmp_path: Path) -> None:
    with living(tmp_path, "--days", "0") as demo:
        for path in PAGES:
            assert "<main" in demo.page(path), path
        eventually(lambda: all(each.state == "online" for each in demo.devices().values()))
        assert sorted(demo.devices()) == sorted(place.name for place in DEVICES)

        def members_up() -> int | None:
            """None where whoever asks is told to come again: the machine has much to do."""
            try:
                graph = json.loads(demo.page("/api/v1/mesh/graph"))
            except HTTPError as error:
                if "Retry-After" in error.headers:
                    return None
                raise
            return sum(bool(member["is_up"]) for member in graph["members"])

        eventually(lambda: members_up() == len(NODES))
        eventually(lambda: reaches(demo))
        assert demo.memory() < MEMORY_MAX

        assert RELAY in demo.run("demo", "incident")
        eventually(lambda: RELAY not in way(demo))
        eventually(lambda: reaches(demo))
        eventually(lambda: members_up() == len(NODES) - 1)
        eventually(lambda: demo.devices()[RELAY].state != "online")
        assert "back" in demo.run("demo", "incident", "--over")
        eventually(lambda: members_up() == len(NODES))
        eventually(lambda: demo.devices()[RELAY].state == "online")

        processes = demo.processes()
        assert len(processes) > 1
        assert demo.interrupt() == 0
        check_that_nothing_is_left(demo, processes)


def test_a_demo_comes_up_again_where_one_was_and_on_other_ports(tmp_path: Path) -> None:
    with taken("tcp", 8420), taken("tcp", 7420), taken("udp", 10009):
        for _ in range(2):
            with living(tmp_path, "--days", "0", "--scenario", "blackout") as demo:
                for port in (8420, 7420, 10009):
                    assert any(f"port {port} " in told for told in demo.remarks), port
                assert "<main" in demo.page("/fleet")
                assert "server-1" in demo.run("demo", "incident")
                processes = demo.processes()
                assert demo.interrupt() == 0
                check_that_nothing_is_left(demo, processes)


@contextmanager
def taken(kind: str, port: int) -> Iterator[None]:
    """By us, unless somebody else has it already."""
    with ExitStack() as stack:
        ours = socket.SOCK_STREAM if kind == "tcp" else socket.SOCK_DGRAM
        sock = stack.enter_context(socket.socket(socket.AF_INET, ours))
        try:
            if kind == "tcp":  # whatever an earlier one left in TIME_WAIT
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind(("127.0.0.1", port))
            if kind == "tcp":
                sock.listen()
        except OSError:
            pass
        yield
