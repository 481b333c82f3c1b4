"""axe-core, which looks for what keeps people from using a page; taken from npm once."""

import fcntl
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import msgspec
import pytest
from playwright.sync_api import Page

VERSION = "4.14.0"
# Git and the linters pass over build/.
CACHE = Path(__file__).parents[3] / "build" / "axe"
INSTALL_S = 120
GRAVE = ("serious", "critical")


class Target(msgspec.Struct):
    html: str


class Violation(msgspec.Struct):
    """A rule that a page breaks, and where."""

    id: str
    impact: str | None
    nodes: list[Target]

    def __str__(self) -> str:
        places = "; ".join(node.html[:120] for node in self.nodes[:5])
        return f"{self.impact} {self.id} ({len(self.nodes)}): {places}"


def axe_source() -> str:
    """The program itself; the test is skipped where it cannot be had."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not on PATH")
    CACHE.mkdir(parents=True, exist_ok=True)
    target = CACHE / f"axe-{VERSION}.js"
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # xdist workers start at the same time
        if not target.exists():
            _fetch(target)
    return target.read_text()


def _fetch(target: Path) -> None:
    pack = ["npm", "pack", "--silent", "--ignore-scripts", f"axe-core@{VERSION}"]
    try:
        subprocess.run(
            pack, cwd=CACHE, check=True, capture_output=True, text=True, timeout=INSTALL_S
        )
    except (subprocess.SubprocessError, OSError) as error:
        complaint = f"npm has no axe-core: {error}"
        if os.environ.get("CI") == "true":
            pytest.fail(complaint, pytrace=False)
        pytest.skip(complaint)
    with tarfile.open(CACHE / f"axe-core-{VERSION}.tgz") as archive:
        held = archive.extractfile("package/axe.min.js")
        assert held is not None
        unfinished = target.with_suffix(".unfinished")
        unfinished.write_bytes(held.read())
    unfinished.rename(target)


def grave_violations(page: Page, source: str, rules: tuple[str, ...] = ()) -> list[str]:
    """What axe finds on the page as it is now; of some rules only, if they are named."""
    page.evaluate(source)  # which is not the page's own script, so its policy stays as it is
    options: dict[str, object] = {"resultTypes": ["violations"]}
    if rules:
        options["runOnly"] = list(rules)
    run = "options => axe.run(document, options).then(found => JSON.stringify(found.violations))"
    found = msgspec.json.decode(page.evaluate(run, options), type=list[Violation])
    return [str(one) for one in found if one.impact in GRAVE]
