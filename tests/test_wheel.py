"""What `pip install` brings is whole: a hub from a wheel makes its tables and shows its pages."""

import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urljoin
from urllib.request import Request, urlopen

import pytest

ROOT = Path(__file__).parent.parent

_STARTER = "from rookery.cli.main import run; run()"
_ASSET = re.compile(r'(?:href|src)="(/static/[^"]+)"')

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder],
        cwd=ROOT,
        env=os.environ | {"ROOKERY_COMPILED": "0"},  # tests/test_compiled.py has those that are
        check=True,
        capture_output=True,
        timeout=120,
    )
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


@pytest.fixture
def url(unpacked: Path, tmp_path: Path) -> Iterator[str]:
    """Of a hub that runs from the wheel."""
    addresses = [word for name in ("http", "udp", "tcp") for word in (f"--{name}", "127.0.0.1:0")]
    with subprocess.Popen(
        [sys.executable, "-c", _STARTER, "hub", "--data", "hub", *addresses],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(unpacked)},
        stdout=subprocess.PIPE,
    ) as process:
        try:
            assert process.stdout is not None
            link = json.loads(process.stdout.readline())
            yield next(path["url"] for path in link["paths"] if path["type"] == "http")
        finally:
            process.terminate()


def fetched(url: str) -> str:
    with urlopen(Request(url, headers={"Accept": "text/html"}), timeout=30) as answer:
        text: bytes = answer.read()
    return text.decode()


def test_a_hub_from_a_wheel_shows_its_pages(url: str) -> None:
    text = fetched(url)
    assets = set(_ASSET.findall(text))
    assert "<main" in text
    assert assets
    assert all(fetched(urljoin(url, asset)) for asset in assets)


def test_the_wheel_is_what_runs(unpacked: Path) -> None:
    """And not the checkout beside it."""
    where = subprocess.run(
        [sys.executable, "-c", "import rookery; print(rookery.__file__)"],
        env={**os.environ, "PYTHONPATH": str(unpacked)},
        capture_output=True,
        check=True,
        text=True,
        timeout=30,
    )
    assert Path(where.stdout.strip()).is_relative_to(unpacked)
