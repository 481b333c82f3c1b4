"""The peer: Mosquitto with clients in C, on the work that a crow broker is measured with.

    publisher ──▶ mosquitto ──▶ subscribers      three processes, one for all subscribers

Its own tools start a process for every subscriber and print what comes, so the clients are a
program of ours on its library, compiled when first needed. Needs Debian's mosquitto and
libmosquitto-dev, and a C compiler; where something is missing, the rows say so.
"""

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from socket import create_connection

from bench.machine import ROOT
from tests.ports import free_ports

PATIENCE_S = 60.0

_SOURCE = Path(__file__).with_name("mosquitto_load.c")
_PLACES = "/usr/local/sbin:/usr/sbin:/sbin"  # not on everybody's path
# Nothing is dropped for want of room, nothing goes to a disk.
_CONFIG = """
listener {port} 127.0.0.1
allow_anonymous true
persistence false
max_queued_messages 0
log_type none
"""


@dataclass(frozen=True, slots=True)
class Work:
    """Messages of one publisher for several subscribers."""

    qos: int
    messages: int
    size: int
    subscribers: int


@cache
def lack() -> str | None:
    """Why there is nothing to compare with; None when there is."""
    if _server() is None:
        return "mosquitto is not installed"
    try:
        _load()
    except OSError:
        return "no C compiler"
    except subprocess.CalledProcessError:
        return "libmosquitto-dev is not installed"
    return None


def deliveries_per_s(work: Work) -> float:
    """Messages that all subscribers together get in a second, once all have got all."""
    with _broker() as port:
        load, common = str(_load()), [str(port), str(work.qos), str(work.messages)]
        with (
            _client(load, "subscribe", *common, str(work.subscribers)) as subscribers,
            _client(load, "publish", *common, str(work.size)) as publisher,
        ):
            assert _line(subscribers) == "subscribed"
            assert _line(publisher) == "connected"
            assert publisher.stdin is not None
            publisher.stdin.write("\n")
            publisher.stdin.flush()
            received, seconds = _line(subscribers).split()
            assert int(received) == work.messages * work.subscribers, "it has missed something"
            return int(received) / float(seconds)


def _server() -> str | None:
    return shutil.which("mosquitto") or shutil.which("mosquitto", path=_PLACES)


@cache
def _load() -> Path:
    program = ROOT / "build" / "mosquitto" / "load"
    program.parent.mkdir(parents=True, exist_ok=True)
    command = ["cc", "-O2", str(_SOURCE), "-o", str(program), "-lmosquitto"]
    subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE_S)
    return program


@contextmanager
def _broker() -> Iterator[int]:
    server, (port,) = _server(), free_ports(1)
    assert server is not None
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "mosquitto.conf"
        config.write_text(_CONFIG.format(port=port))
        with subprocess.Popen([server, "-c", str(config)]) as process:
            try:
                _wait_for(port)
                yield port
            finally:
                process.terminate()


def _wait_for(port: int) -> None:
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            create_connection(("127.0.0.1", port)).close()
            return
        except ConnectionRefusedError:
            if time.monotonic() > until:
                raise
            time.sleep(0.01)


@contextmanager
def _client(*words: str) -> Iterator["subprocess.Popen[str]"]:
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def _line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()
