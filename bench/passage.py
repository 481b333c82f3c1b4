"""Passages: a local port that leads to another one, through whatever is to be measured.

client ──▶ listener of one node ══ link, or links over relays ══▶ exit of another ──▶ target
client ──▶ ssh -L           ═══════════ one connection ═════▶ sshd            ──▶ target
"""

import contextlib
import getpass
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.raw import LOOPBACK
from tests.cli.program import rookery, running
from tests.e2e.mesh.flock import Loopback, write_link
from tests.ports import free_ports
from tests.runtime.realms import realm

_PATIENCE_S = 30.0
_POLL_S = 0.05
_CIPHER = "aes256-gcm@openssh.com"
_TICKS = os.sysconf("SC_CLK_TCK")
_UTIME_AT = 11  # of /proc/PID/stat, after the name


@dataclass(frozen=True, slots=True)
class Passage:
    """Connect to `port` of this machine; `pids` are the processes in between, or their parents."""

    port: int
    pids: Sequence[int]

    def cpu_s(self) -> float:
        """What these have used up to now, as far as they live."""
        return sum(_cpu_s(each) for pid in self.pids for each in _family(pid))


@contextmanager
def mesh(target: int, relays: int = 0) -> Iterator[Passage]:
    """Two nodes, and so many relays between them in a row; all as anybody runs them."""
    names = ["listener", *(f"relay{number}" for number in range(relays)), "exit"]
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        homes = realm(Path(folder), *names, exits=["exit"])
        pids, before = [], ""
        for home, port in zip(reversed(homes), free_ports(len(homes)), strict=True):
            # Only its neighbour is told where it listens, so that nobody takes a short cut: with an
            # address elsewhere, those who meet over relays would still tell each other.
            options = ["--listen", f"{LOOPBACK}:{port}", "--advertise", "none"]
            options += ["--peer", before] if before else ["--exit", f"tcp {LOOPBACK}:{target}"]
            node = stack.enter_context(running("node", *home.options, *options))
            node.line()
            pids.append(node.pid)
            before = str(write_link(home, Loopback(), port))
        keys = str(homes[0].keys)
        _await_route(keys)
        forward = f"0:{LOOPBACK}:{target}@exit"
        listener = stack.enter_context(running("forward", forward, "--id", keys))
        where = next(word for word in listener.line().split() if word.startswith(f"{LOOPBACK}:"))
        yield Passage(int(where.rstrip(",").rpartition(":")[2]), pids)


@contextmanager
def ssh(target: int) -> Iterator[Passage | None]:
    """A server and a client of OpenSSH with keys of their own; None where there are none."""
    client, server = shutil.which("ssh"), shutil.which("sshd", path="/usr/sbin:/usr/bin")
    keygen = shutil.which("ssh-keygen")
    if client is None or server is None or keygen is None:
        yield None
        return
    with tempfile.TemporaryDirectory() as text, ExitStack() as stack:
        folder, (far, near) = Path(text), free_ports(2)
        for name in ("host", "user"):
            command = [keygen, "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
            subprocess.run(command, check=True)
        shutil.copy(folder / "user.pub", folder / "allowed")
        with contextlib.suppress(OSError):  # where sshd of this system puts its empty root
            Path("/run/sshd").mkdir(exist_ok=True)
        settings = {
            "HostKey": folder / "host",
            "AuthorizedKeysFile": folder / "allowed",
            "StrictModes": "no",
            "UsePAM": "no",
            "PidFile": "none",
            "ListenAddress": f"{LOOPBACK}:{far}",
        }
        options = [word for key, value in settings.items() for word in ("-o", f"{key}={value}")]
        serving = _process(stack, [server, "-D", "-e", "-f", os.devnull, *options])
        _await_port(far)
        trust = ["-o", "StrictHostKeyChecking=no", "-o", f"UserKnownHostsFile={os.devnull}"]
        place = [f"{getpass.getuser()}@{LOOPBACK}", "-p", str(far), "-i", str(folder / "user")]
        carry = ["-N", "-L", f"{LOOPBACK}:{near}:{LOOPBACK}:{target}", "-c", _CIPHER]
        calling = _process(stack, [client, "-F", "none", *trust, *carry, *place])
        _await_port(near)
        yield Passage(near, [calling, serving])


def _await_route(keys: str) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while rookery("ping", "exit", "--count", "1", "--id", keys).code:
        if time.monotonic() > deadline:
            raise TimeoutError("the nodes do not find each other")
        time.sleep(_POLL_S)


def _await_port(port: int) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            socket.create_connection((LOOPBACK, port)).close()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(_POLL_S)
        else:
            return


def _process(stack: ExitStack, command: Sequence[str]) -> int:
    process = stack.enter_context(
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    )
    stack.callback(process.send_signal, signal.SIGTERM)
    return process.pid


def _family(pid: int) -> list[int]:
    """A process and all that it has started, and these."""
    try:
        listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except FileNotFoundError:  # it has just ended
        return []
    return [pid, *(each for child in listed for each in _family(int(child)))]


def _cpu_s(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return 0.0
    return (int(fields[_UTIME_AT]) + int(fields[_UTIME_AT + 1])) / _TICKS
