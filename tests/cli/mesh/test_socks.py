"""`rookery socks`: its login; tests/e2e/mesh/test_listeners.py has programs use it."""

from pathlib import Path

import pytest

from rookery.cli.main import main
from rookery.cli.mesh.socks import read_login
from rookery.errors import UsageError
from rookery.mesh.proxy.credentials import ProxyCredentials


def test_a_login_is_the_first_line_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "login"
    file.write_text("user:pass:word\nmore\n")
    assert read_login(file) == ProxyCredentials("user", "pass:word")


@pytest.mark.parametrize("text", ["", "user", "user:", ":password", "u:" + "p" * 256])
def test_anything_else_is_no_login(text: str, tmp_path: Path) -> None:
    file = tmp_path / "login"
    file.write_text(text)
    with pytest.raises(UsageError, match="USER:PASSWORD"):
        read_login(file)


def test_a_login_that_cannot_be_read_is_wrong_usage(tmp_path: Path) -> None:
    assert main(["socks", "--exit", "bob", "--login", str(tmp_path / "none")]) == 2
