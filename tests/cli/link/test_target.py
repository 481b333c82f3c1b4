"""LINK on the command line: every way to write one, and what is said of all else."""

import io
import os
from pathlib import Path

import msgspec
import pytest

from rookery.cli.link.target import parse_target
from rookery.errors import UsageError
from rookery.identity.identity import Identity
from rookery.wire.link.path import net_path
from rookery.wire.link.uri import LinkAddress

IDENTITY = Identity.generate([0x3A], os.urandom)
ADDRESS = LinkAddress(
    IDENTITY.hashname, dict(IDENTITY.keys), (net_path("udp", "127.0.0.1", 42424),)
)
JSON = msgspec.json.encode(ADDRESS.json()).decode()


def test_a_json_link() -> None:
    assert parse_target(JSON) == ADDRESS


def test_a_uri() -> None:
    assert parse_target(ADDRESS.uri()).keys == ADDRESS.keys


def test_a_hashname() -> None:
    assert parse_target(IDENTITY.hashname) == LinkAddress(IDENTITY.hashname)


@pytest.mark.parametrize(
    "content",
    [JSON, f"\n{JSON}\n", f"{JSON}\nbob: a line of chat\n", msgspec.json.format(JSON, indent=2)],
)
def test_a_file(content: str, tmp_path: Path) -> None:
    (tmp_path / "bob.link").write_text(content)
    assert parse_target(str(tmp_path / "bob.link")) == ADDRESS


def test_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(JSON + "\n"))
    assert parse_target("-") == ADDRESS


@pytest.mark.parametrize(
    "text",
    ["nowhere", "", ".", "{", "{}x", '{"keys":1}', "link://[", "a" * 51, "\0", "x" * 5000],
)
def test_what_is_no_link_says_what_would_be(text: str) -> None:
    with pytest.raises(UsageError, match="give a link:// URI"):
        parse_target(text)


@pytest.mark.parametrize("content", [b"", b"\n\n", b"no link", b"\xff\xfe", b"{" * 100_000])
def test_a_file_without_a_link_is_named(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "bob.link").write_bytes(content)
    with pytest.raises(UsageError, match=r"bob\.link"):
        parse_target(str(tmp_path / "bob.link"))
