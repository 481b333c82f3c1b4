"""A shell on a node that nobody can dial: SSH over a forward, as the guide on tunnels shows it."""

import getpass
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from tests.cli.program import rookery, running
from tests.e2e.mesh.colony import until
from tests.patience import PATIENCE_S
from tests.ports import free_port
from tests.runtime.realms import realm

SSH, SSHD, KEYGEN = shutil.which("ssh"), shutil.which("sshd"), shutil.which("ssh-keygen")
if SSHD is None and Path("/usr/sbin/sshd").exists():
    SSHD = "/usr/sbin/sshd"


@contextmanager
def ssh_server(folder: Path, port: int) -> Iterator[None]:
    """One that lets in whoever runs the tests, with a key made for them."""
    assert SSHD is not None
    assert KEYGEN is not None
    for name in ("host", "user"):
        command = [KEYGEN, "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(command, check=True, timeout=PATIENCE_S)
    (folder / "authorized").write_text((folder / "user.pub").read_text())
    (folder / "config").write_text(
        f"ListenAddress 127.0.0.1:{port}\nHostKey {folder}/host\nPidFile none\nUsePAM no\n"
        f"AuthorizedKeysFile {folder}/authorized\nStrictModes no\nPermitRootLogin yes\n"
    )
    with suppress(OSError):  # where sshd of this system puts its empty root
        Path("/run/sshd").mkdir(exist_ok=True)
    command = [SSHD, "-D", "-e", "-f", str(folder / "config")]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            yield
        finally:
            server.terminate()


def said(folder: Path, port: int, words: str) -> str | None:
    """What a command prints at the other end; None when nobody lets us in."""
    assert SSH is not None
    options = {
        "IdentityFile": folder / "user",
        "IdentitiesOnly": "yes",
        "UserKnownHostsFile": folder / "known",
        "StrictHostKeyChecking": "accept-new",
        "HostKeyAlias": "bob",
        "BatchMode": "yes",
        "ConnectTimeout": "20",
    }
    flags = [word for key, value in options.items() for word in ("-o", f"{key}={value}")]
    command = [SSH, "-F", "none", *flags, "-p", str(port), f"{getpass.getuser()}@127.0.0.1", words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    return done.stdout if done.returncode == 0 else None


def is_usable(folder: Path, port: int) -> bool:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if said(folder, port, "true") is not None:
            return True
        time.sleep(0.2)
    return False


@pytest.mark.skipif(not (SSH and SSHD and KEYGEN), reason="needs an SSH server")
def test_a_shell_is_ssh_over_a_forward(tmp_path: Path) -> None:
    """M7: alice – east – bob, where an SSH server listens on loopback only."""
    homes = {home.name: home for home in realm(tmp_path, "east", "alice", "bob")}
    port = free_port()
    with ExitStack() as stack:
        stack.enter_context(ssh_server(tmp_path, port))
        if not is_usable(tmp_path, port):
            pytest.skip("the SSH server lets nobody in on this machine")

        def start(name: str, *options: str) -> str:
            node = stack.enter_context(running("node", *homes[name].options, *options))
            (tmp_path / f"{name}.link").write_text(node.line())
            return str(tmp_path / f"{name}.link")

        east = ["--peer", start("east"), "--advertise", "none"]
        start("bob", *east, "--exit", f"tcp 127.0.0.1:{port}")
        start("alice", *east)
        alice = ["--id", str(homes["alice"].keys)]
        until(lambda: rookery("ping", "bob", "--count", "1", *alice).code == 0)
        words = ["forward", f"0:127.0.0.1:{port}@bob", *alice]
        forward = stack.enter_context(running(*words))
        local = int(forward.line().split()[1].rpartition(":")[2])
        assert said(tmp_path, local, "echo caw; wc -c < /dev/null") == "caw\n0\n"
        assert said(tmp_path, local, "head -c 1000000 /dev/zero | tr '\\0' x") == "x" * 1_000_000
