"""Without any extra: keys, and nodes of a realm that find each other."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.e2e.fleet.world import eventually
from tests.install.environment import TIMEOUT_S, Environment

pytestmark = [pytest.mark.xdist_group("install"), pytest.mark.slow]

LISTEN = ("--listen", "127.0.0.1:0")


def test_what_runs_is_what_was_installed(none: Environment, tmp_path: Path) -> None:
    where = none.run(none.python, "-c", "import rookery; print(rookery.__file__)", cwd=tmp_path)
    assert Path(where.out.strip()).is_relative_to(none.packages)
    told = none.rookery("--version", cwd=tmp_path).out
    assert told.startswith(f"rookery {none.distributions()['rookery']} (pure Python ")


def test_two_nodes_of_a_realm_ping_each_other(none: Environment, tmp_path: Path) -> None:
    def done(*arguments: str) -> str:
        outcome = none.rookery(*arguments, cwd=tmp_path)
        assert outcome.code == 0, outcome.err
        return outcome.out

    for name in ("alice", "bob"):
        done("id", "new", name)
    done("realm", "init", "home", "--name", "home", "--id", "bob")
    with ExitStack() as stack:

        def start(name: str, realm: str) -> None:
            verb = ("node", "--id", name, "--realm", realm, *LISTEN)
            stack.enter_context(none.running(*verb, cwd=tmp_path)).line(TIMEOUT_S)

        start("bob", "home")
        (tmp_path / "invitation").write_text(done("realm", "invite", "--realm", "home"))
        done("realm", "join", "invitation", "--realm", "alices-home", "--id", "alice")
        start("alice", "alices-home")

        def answers() -> bool:
            asked = none.rookery("ping", "bob", "--id", "alice", "--count", "1", cwd=tmp_path)
            return asked.code == 0

        eventually(answers, TIMEOUT_S)
