"""`rookery login` to an account with a second factor, from a terminal and from a script."""

import json
import os
import pty
import select
import subprocess
import time
from base64 import b32decode
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from rookery.web.accounts.factors.totp import code_at, step_of
from tests.cli.program import PROGRAM, Outcome, running
from tests.patience import PATIENCE_S

PASSWORD = "correct horse battery"


class Enrolled(NamedTuple):
    """A hub with the account ann, which has an authenticator app and these recovery codes."""

    url: str
    codes: list[str]


@contextmanager
def hub(folder: Path, *options: str) -> Iterator[str]:
    places = [f"--{kind}=127.0.0.1:0" for kind in ("http", "udp", "tcp")]
    with running("hub", "--data", folder, *places, *options) as process:
        paths = {path["type"]: path for path in json.loads(process.line())["paths"]}
        yield str(paths["http"]["url"]).rstrip("/")


def registered(url: str) -> httpx.Client:
    client = httpx.Client(base_url=url, timeout=PATIENCE_S)
    body = {"login": "ann", "password": PASSWORD}
    assert client.post("/api/v1/accounts", json=body).status_code == 201
    assert client.post("/api/v1/session", json=body).status_code == 201
    return client


@pytest.fixture
def enrolled(tmp_path: Path) -> Iterator[Enrolled]:
    with hub(tmp_path / "hub") as url, closing(registered(url)) as client:
        secret = client.post("/api/v1/me/factors/totp").json()["secret"]
        key = b32decode(secret)
        code = {"code": code_at(key, step_of(time.time()))}
        done = client.post("/api/v1/me/factors/totp/confirm", json=code)
        assert done.status_code == 201, done.text
        yield Enrolled(url, done.json()["recovery_codes"])


def sign_in(url: str, data: Path, code: str = "") -> Outcome:
    command = [str(PROGRAM), "login", url, "--login", "ann", "--data", str(data)]
    done = subprocess.run(
        command,
        input=f"{PASSWORD}\n".encode(),
        env={**os.environ, "ROOKERY_SECOND_FACTOR": code},
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())


def test_a_script_gives_the_code_by_the_environment(enrolled: Enrolled, tmp_path: Path) -> None:
    missing = sign_in(enrolled.url, tmp_path / "cli")
    assert missing.code != 0
    assert "missing or wrong code of the second factor" in missing.complaint()
    assert not (tmp_path / "cli" / "hub.json").exists()
    entered = sign_in(enrolled.url, tmp_path / "cli", enrolled.codes[0])
    assert (entered.code, "signed in" in entered.out) == (0, True), entered.err
    assert sign_in(enrolled.url, tmp_path / "cli", enrolled.codes[0]).code != 0


def test_a_terminal_is_asked_for_password_and_code(enrolled: Enrolled, tmp_path: Path) -> None:
    shown = typed(
        [str(PROGRAM), "login", enrolled.url, "--login", "ann", "--data", str(tmp_path / "cli")],
        [("password: ", PASSWORD), ("code of the second factor", enrolled.codes[1])],
    )
    assert "signed in" in shown
    assert PASSWORD not in shown
    assert enrolled.codes[1] not in shown


def typed(command: list[str], answers: list[tuple[str, str]]) -> str:
    """All that a program shows on a terminal, where each question gets its answer."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(command[0], command)
    shown, deadline = "", time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if not select.select([terminal], [], [], 1)[0]:
            continue
        try:
            data = os.read(terminal, 4096)
        except OSError:  # Linux says so when the program has ended
            break
        if not data:
            break
        shown += data.decode(errors="replace")
        if answers and answers[0][0] in shown:
            os.write(terminal, answers.pop(0)[1].encode() + b"\n")
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    assert (os.waitstatus_to_exitcode(status), answers) == (0, []), shown
    return shown


def test_a_hub_that_asks_for_a_factor_says_where_to_set_it_up(tmp_path: Path) -> None:
    with hub(tmp_path / "hub", "--require-second-factor", "all") as url:
        registered(url).close()
        refused = sign_in(url, tmp_path / "cli")
    assert refused.code != 0
    assert "set one up in a browser, at /account/factors" in refused.complaint()
