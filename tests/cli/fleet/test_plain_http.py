"""A hub's HTTP without TLS stays on this machine (M7)."""

from pathlib import Path

import pytest

from tests.cli.program import rookery


@pytest.mark.parametrize("where", ["0.0.0.0:0", "[::]:0", ":0", "192.0.2.1:0", "some-name:0"])
def test_a_hub_refuses_plain_http_where_others_reach_it(where: str, tmp_path: Path) -> None:
    refused = rookery("hub", "--data", tmp_path / "hub", "--http", where)
    assert refused.code == 2
    assert "show passwords and tokens to everybody on the way" in refused.complaint()
    assert "--insecure-http" in refused.err
    assert not (tmp_path / "hub").exists()


def test_insecure_http_is_allowed_by_its_option(tmp_path: Path) -> None:
    ports = ("--udp", "127.0.0.1:0", "--tcp", "127.0.0.1:0")
    tried = rookery(
        *("hub", "--data", tmp_path / "hub", "--http", "192.0.2.1:0", "--insecure-http"), *ports
    )
    assert tried.code == 2
    assert "cannot listen on 192.0.2.1" in tried.complaint()
