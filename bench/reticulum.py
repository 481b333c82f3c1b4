"""The peer: a resource of Reticulum over local TCP, from one process to another.

It has an interpreter of its own, made when first needed.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.figure import Effort, middle
from bench.peers import python_with, version
from tests.ports import free_ports

PACKAGE = "rns"
SIZE = 16 << 20
PATIENCE_S = 120.0

_END = Path(__file__).with_name("reticulum_end.py")
_CONFIG = """
[reticulum]
enable_transport = no
share_instance = no
[logging]
loglevel = 0
[interfaces]
[[bench]]
enabled = yes
{}
"""
_SERVER = "type = TCPServerInterface\nlisten_ip = 127.0.0.1\nlisten_port = {}"
_CLIENT = "type = TCPClientInterface\ntarget_host = 127.0.0.1\ntarget_port = {}"


def measured(effort: Effort) -> tuple[str, float]:
    """Its name with its version, and the bytes a second that one resource carries."""
    python = python_with(PACKAGE)
    size = SIZE // 16 if effort.is_quick else SIZE
    rate = middle(_transfer(python, size) for _ in range(effort.runs))
    return f"Reticulum {version(python, PACKAGE)}", rate


def _transfer(python: Path, size: int) -> float:
    with tempfile.TemporaryDirectory() as text:
        folder, (port,) = Path(text), free_ports(1)
        (folder / "data").write_bytes(os.urandom(size))
        for name, interface in (("server", _SERVER), ("client", _CLIENT)):
            (folder / name).mkdir()
            (folder / name / "config").write_text(_CONFIG.format(interface.format(port)))
        with _end(python, "serve", folder / "server") as server:
            assert server.stdout is not None
            name = server.stdout.readline().decode().strip()
            try:
                with _end(python, "send", folder / "client", name, folder / "data") as client:
                    said, _ = client.communicate(timeout=PATIENCE_S)
            finally:
                server.kill()
        return size / float(said)


def _end(python: Path, *words: str | Path) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [python, _END, *words], stdout=subprocess.PIPE, stderr=sys.stderr, stdin=subprocess.DEVNULL
    )
