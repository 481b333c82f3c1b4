"""P5: static files are ours or vendored as the manifest says, small, compressed, and kept long."""

import gzip
import hashlib
import re
from pathlib import Path

import msgspec

from rookery.web.assets import Assets, assets
from tests.web.world import World

STATIC = Path(__file__).parents[2] / "src" / "rookery" / "web" / "static"
VENDOR = STATIC / "vendor"
COMPRESSED_MAX = 250_000


class Vendored(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    version: str
    licence: str
    files: dict[str, str]


def test_what_is_vendored_is_what_the_manifest_says() -> None:
    manifest = msgspec.json.decode((VENDOR / "manifest.json").read_bytes(), type=list[Vendored])
    reference = {name: digest for package in manifest for name, digest in package.files.items()}
    held = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in VENDOR.iterdir()
        if path.name != "manifest.json"
    }
    assert held == reference
    for package in manifest:
        assert any(name.endswith(".LICENSE") for name in package.files), package.name


def test_all_that_browsers_load_is_small() -> None:
    assert assets().compressed_bytes < COMPRESSED_MAX


def test_files_name_each_other_by_the_same_hash() -> None:
    shell = assets().find("shell.js")
    assert shell is not None
    assert f'"/static/search.js?v={assets().version}"'.encode() in shell.plain
    for name in ("rookery.css", "shell.js", "chart.js"):
        found = assets().find(name)
        assert found is not None
        for reference in re.findall(rb'"/static/([^"]+)"', found.plain):
            assert reference.endswith(assets().version.encode()), (name, reference)


def test_whatever_changes_changes_the_hash(tmp_path: Path) -> None:
    (tmp_path / "one.js").write_text("1")
    before = Assets(tmp_path).version
    (tmp_path / "two.css").write_text("2")
    assert Assets(tmp_path).version != before


async def test_a_file_is_cached_by_its_hash_and_revalidated_without(hubworld: World) -> None:
    async with hubworld.anonymous() as client:
        named = await client.get(assets().url("rookery.css"))
        assert "immutable" in named.headers["cache-control"]
        plain = await client.get("/static/rookery.css", headers={"accept-encoding": "identity"})
        assert "no-cache" in plain.headers["cache-control"]
        assert "content-encoding" not in plain.headers
        again = {"if-none-match": plain.headers["etag"]}
        assert (await client.get("/static/rookery.css", headers=again)).status_code == 304
        old = await client.get("/static/rookery.css?v=000000000000")
        assert "no-cache" in old.headers["cache-control"]


async def test_a_file_comes_compressed_to_those_who_take_it(hubworld: World) -> None:
    async with hubworld.anonymous() as client:
        url = assets().url("vendor/cytoscape.js")
        request = client.build_request("GET", url, headers={"accept-encoding": "gzip"})
        answer = await client.send(request, stream=True)
        raw = b"".join([chunk async for chunk in answer.aiter_raw()])
        assert answer.headers["content-encoding"] == "gzip"
        assert answer.headers["content-type"].startswith("text/javascript")
        assert gzip.decompress(raw) == (VENDOR / "cytoscape.js").read_bytes()


async def test_nothing_but_static_files_is_served(hubworld: World) -> None:
    async with hubworld.anonymous() as client:
        for path in ("../app.py", "%2e%2e/app.py", "nothing.js", "vendor", "/etc/passwd"):
            assert (await client.get(f"/static/{path}")).status_code == 404
