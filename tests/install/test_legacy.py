"""With `legacy`: two endpoints that have nothing but the oldest cipher set in common."""

from pathlib import Path

import pytest

from tests.install.environment import TIMEOUT_S, Installer

pytestmark = [pytest.mark.xdist_group("install"), pytest.mark.slow]


def test_endpoints_link_with_the_oldest_cipher_set(installer: Installer, tmp_path: Path) -> None:
    legacy = installer.environment("legacy")
    for name in ("alice", "bob"):
        assert legacy.rookery("id", "new", name, "--cs", "1a", cwd=tmp_path).code == 0
    serving = ("endpoint", "--id", "bob", "--udp", "127.0.0.1:0", "--accept", "all")
    with legacy.running(*serving, cwd=tmp_path) as bob:
        (tmp_path / "bob.link").write_text(bob.line(TIMEOUT_S))
        linked = legacy.rookery("link", "bob.link", "--id", "alice", "--json", cwd=tmp_path)
    assert linked.code == 0, linked.err
    assert linked.json()["cs"] == "1a"
