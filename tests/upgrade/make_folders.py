"""Has an earlier version of rookery make the data folders of a small fleet, and packs them.

python -m tests.upgrade.make_folders CHECKOUT PACKED     CHECKOUT: of that version

    hub/     an account with a token, a claimed device, a server; a spool that has landed in part
    server/  agent/  ann/ (a client that is signed in)  lake/
    alice/  bob/  home/  bobs-home/     two members of a realm

The keys in there were made for this and are used nowhere else.
"""

import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.patience import PATIENCE_S

MAC = "02:fc:00:00:00:01"
PASSWORD = "correct horse battery"
STARTER = "from rookery.cli.main import run; run()"
TRIES_APART_S = 0.2
LASTING = ("--days", "3650")  # for the test of many a year
EPOCH = 1_700_000_000


class Earlier:
    """Programs of that version, in one folder."""

    def __init__(self, checkout: Path, folder: Path) -> None:
        self.folder = folder
        self._environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}

    def run(self, *words: str, stdin: str = "") -> str:
        return subprocess.run(
            self._command(words),
            cwd=self.folder,
            env=self._environment,
            input=stdin,
            check=True,
            stdout=subprocess.PIPE,
            text=True,
            timeout=PATIENCE_S,
        ).stdout

    @contextmanager
    def running(self, *words: str) -> Iterator[str]:
        """Its first line, while it runs."""
        with subprocess.Popen(
            self._command(words),
            cwd=self.folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                assert process.stdout is not None
                yield process.stdout.readline()
            finally:
                process.terminate()

    def _command(self, words: tuple[str, ...]) -> list[str]:
        return [sys.executable, "-c", STARTER, *words]


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end
        time.sleep(TRIES_APART_S)


def fleet(earlier: Earlier) -> None:
    places = [word for name in ("udp", "tcp", "http") for word in (f"--{name}", "127.0.0.1:0")]
    with earlier.running("hub", "--data", "hub", "--policy", "claim", *places) as link:
        (earlier.folder / "hub.link").write_text(link)
        url = next(path["url"] for path in json.loads(link)["paths"] if path["type"] == "http")
        account = ("fleet", "account", "add", "ann", "--role", "admin", "--data", "hub")
        earlier.run(*account, stdin=PASSWORD)
        earlier.run("login", url, "--login", "ann", "--data", "ann", stdin=PASSWORD)
        code = earlier.run("fleet", "code", "--server", "--data", "hub", "--json")
        (earlier.folder / "server.code").write_text(json.loads(code)["code"])
        added = json.loads(earlier.run("devices", "add", "--data", "ann", "--json"))
        (earlier.folder / "agent.code").write_text(added["code"])
        server = ("server", "--hub", "hub.link", "--id", "server", "--code-file", "server.code")
        agent = ("agent", "--hub", "hub.link", "--id", "agent", "--mac", MAC, "--interval", "1")
        with earlier.running(*server), earlier.running(*agent, "--claim-file", "agent.code"):
            until(lambda: "online" in earlier.run("devices", "--data", "ann"))
            earlier.run("lake", "land", "--spool", "hub", "--data", "lake")
            landed = spooled(earlier)
            until(lambda: spooled(earlier) > 2 * landed)  # of which the half has not landed


def spooled(earlier: Earlier) -> int:
    return sum(path.stat().st_size for path in (earlier.folder / "hub" / "spool").glob("*.spool"))


def mesh(earlier: Earlier) -> None:
    for name in ("alice", "bob"):
        earlier.run("id", "new", name)
    earlier.run("realm", "init", "home", "--name", "home", "--id", "alice", *LASTING)
    with earlier.running("node", "--id", "alice", "--realm", "home", "--listen", "127.0.0.1:0"):
        invitation = earlier.run("realm", "invite", "--realm", "home", *LASTING)
        (earlier.folder / "invitation").write_text(invitation)
        earlier.run("realm", "join", "invitation", "--realm", "bobs-home", "--id", "bob")


def packed(folder: Path) -> bytes:
    """All files that stay when programs end, without whose they were and when they were written."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:xz", preset=9) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_dir() or path.is_file():
                member = archive.gettarinfo(path, str(path.relative_to(folder)))
                member.uid = member.gid = 0
                member.uname = member.gname = ""
                member.mtime = EPOCH
                with path.open("rb") if path.is_file() else io.BytesIO() as stream:
                    archive.addfile(member, stream)
    return buffer.getvalue()


def main() -> None:
    checkout, file = map(Path, sys.argv[1:])
    with tempfile.TemporaryDirectory() as name:
        earlier = Earlier(checkout.resolve(), Path(name))
        fleet(earlier)
        mesh(earlier)
        file.write_bytes(packed(Path(name)))


if __name__ == "__main__":
    main()
