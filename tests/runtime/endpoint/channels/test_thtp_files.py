"""A directory over `thtp`: its files, and nothing else (T3)."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rookery.errors import UsageError
from rookery.runtime.endpoint.channels.thtp import request
from rookery.runtime.endpoint.channels.thtp_files import serve_files
from tests.runtime.channel_pair import Pair

SECRET = b"not for you"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "site"
    (root / "docs" / "deep").mkdir(parents=True)
    (root / "empty").mkdir()
    (root / ".git").mkdir()
    (root / ".well-known").mkdir()
    (root / "index.html").write_bytes(b"<h1>home</h1>")
    (root / "docs" / "index.html").write_bytes(b"<h1>docs</h1>")
    (root / "docs" / "a b.txt").write_bytes(b"text")
    (root / "big.bin").write_bytes(bytes(range(256)) * 1000)
    (root / "data.tar.gz").write_bytes(b"gz")
    (root / ".git" / "config").write_bytes(SECRET)
    (root / ".well-known" / "x.json").write_bytes(b"{}")
    (tmp_path / "secret.txt").write_bytes(SECRET)
    (tmp_path / "site-two").mkdir()
    (tmp_path / "site-two" / "secret.txt").write_bytes(SECRET)
    return root


@pytest.fixture
async def pair(root: Path) -> AsyncIterator[Pair]:
    async with Pair() as pair:
        pair.bob.serve("thtp", serve_files(root))
        yield pair


@pytest.mark.parametrize(
    ("path", "content", "kind"),
    [
        ("/", b"<h1>home</h1>", "text/html; charset=utf-8"),
        ("/index.html?v=1", b"<h1>home</h1>", "text/html; charset=utf-8"),
        ("/docs/", b"<h1>docs</h1>", "text/html; charset=utf-8"),
        ("//docs//a%20b.txt", b"text", "text/plain; charset=utf-8"),
        ("/big.bin", bytes(range(256)) * 1000, "application/octet-stream"),
        ("/data.tar.gz", b"gz", "application/octet-stream"),
        ("/.well-known/x.json", b"{}", "application/json"),
    ],
)
async def test_files_come_whole_and_with_their_type(
    pair: Pair, path: str, content: bytes, kind: str
) -> None:
    response = await request(pair.alice, "GET", path)
    assert response.status == 200
    assert response.headers == {"content-type": kind, "content-length": str(len(content))}
    assert await response.read() == content


async def test_head_has_the_headers_without_the_file(pair: Pair) -> None:
    response = await request(pair.alice, "HEAD", "/big.bin")
    assert (response.status, response.headers["content-length"]) == (200, "256000")
    assert await response.read() == b""


async def test_other_methods_are_405(pair: Pair) -> None:
    response = await request(pair.alice, "DELETE", "/big.bin")
    assert (response.status, response.headers["allow"]) == (405, "GET, HEAD")
    await response.read()


@pytest.mark.parametrize(
    "path",
    [
        "/nothing",
        "/empty/",
        "/index.html/",
        "/big.bin/index.html",
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "/..%2fsecret.txt",
        "/docs/../../secret.txt",
        "/docs/..%5c..%5csecret.txt",
        "/../site-two/secret.txt",
        "/.git/config",
        "/docs/%00",
        "/index.html%00.txt",
        "/%ff%fe",
        "/c:/windows",
        "/" + "x" * 300,
        "/outside.txt",
        "/outside/secret.txt",
        "/outside",
        "/loop",
        "/pipe",
        "*",
    ],
)
async def test_what_is_not_below_the_root_does_not_exist(pair: Pair, root: Path, path: str) -> None:
    (root / "outside.txt").symlink_to(root.parent / "secret.txt")
    (root / "outside").symlink_to(root.parent)
    (root / "loop").symlink_to(root / "loop")
    os.mkfifo(root / "pipe")
    response = await request(pair.alice, "GET", path)
    assert (response.status, await response.read()) == (404, b"not found\n")


async def test_a_link_that_stays_inside_is_followed(pair: Pair, root: Path) -> None:
    (root / "latest").symlink_to(root / "docs")
    response = await request(pair.alice, "GET", "/latest/a%20b.txt")
    assert await response.read() == b"text"


@pytest.mark.parametrize(
    ("path", "location"),
    [("/docs", "/docs/"), ("/docs/deep", "/docs/deep/"), ("//docs", "/docs/")],
)
async def test_a_directory_is_asked_for_with_a_slash(pair: Pair, path: str, location: str) -> None:
    response = await request(pair.alice, "GET", path)
    assert (response.status, response.headers["location"]) == (301, location)
    await response.read()


async def test_only_a_directory_can_be_served(root: Path) -> None:
    with pytest.raises(UsageError, match="not a directory"):
        serve_files(root / "index.html")
