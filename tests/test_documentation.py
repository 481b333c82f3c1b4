"""The pages keep their promises: links lead somewhere, commands do what is shown."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.console import ConsoleError, Step, run, steps

ROOT = Path(__file__).parent.parent
LAKE = "lake.md"  # tests/install carries it out, with rookery[lake] installed

_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_SOURCE = re.compile(r"(?<![\w/.:-])(?:[\w-]+/)+(?:[\w-]+\.[a-z]+)?(?![\w*-])")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def pages() -> list[Path]:
    roots = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "bench").rglob("*.md")]
    return sorted(roots)


def guides() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs" / "guides").rglob("*.md"))]


@pytest.mark.parametrize(("page", "lines_max"), [("README.md", 120), ("ARCHITECTURE.md", 250)])
def test_the_first_pages_stay_short(page: str, lines_max: int) -> None:
    assert len((ROOT / page).read_text().splitlines()) <= lines_max


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def anchors(page: Path) -> set[str]:
    """As the usual renderers make them of headings."""
    headings = _HEADING.findall(_FENCED.sub("", page.read_text()))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(page: Path) -> list[str]:
    broken = []
    for link in _LINK.findall(_FENCED.sub("", page.read_text())):
        if "://" in link or link.startswith("mailto:"):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    return broken


@pytest.mark.parametrize("page", pages(), ids=name)
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    assert broken_links(page) == []


def test_the_index_lists_every_page() -> None:
    index = ROOT / "docs" / "README.md"
    listed = {(index.parent / link).resolve() for link in _LINK.findall(index.read_text())}
    assert [name(page) for page in pages() if "docs" in page.parts and page not in listed] == [
        "docs/README.md"
    ]


@pytest.mark.parametrize("page", [page for page in guides() if page.name != LAKE], ids=name)
def test_every_command_shown_does_what_the_page_says(page: Path, tmp_path: Path) -> None:
    run(page.read_text(), tmp_path)


def missing_sources(text: str) -> list[str]:
    """Files and folders that the text names, and that are neither in `src/rookery` nor in ROOT.

    A folder without its parent, as in a picture of the rooms, may be any of `src/rookery`.
    """
    package = ROOT / "src" / "rookery"
    rooms = {path.name for path in package.rglob("*") if path.is_dir()}
    return [
        path
        for path in _SOURCE.findall(text)
        if path.removesuffix("/") not in rooms
        and not any((root / path).exists() for root in (package, ROOT))
    ]


def test_every_file_that_the_architecture_names_is_there() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    assert len(_SOURCE.findall(text)) > 100
    assert missing_sources(text) == []


def test_a_file_that_moved_is_noticed() -> None:
    assert missing_sources("`mesh/node.py` mesh/no.py, `no/` mesh/tunnel/ web/static/no.js") == [
        "mesh/no.py",
        "no/",
        "web/static/no.js",
    ]


def test_a_link_to_nowhere_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One Heading\n[a](#one-heading) [b](#other) [c](no.md) [d](page.md)\n")
    assert broken_links(page) == ["#other", "no.md"]


def test_only_console_blocks_are_commands() -> None:
    page = "```sh\n$ no\n```\n```console\n$ one \\\n  two\nout\n…\n$ three &\n```\n"
    assert steps(page) == [Step("one   two", "out\n…"), Step("three &")]


@pytest.mark.parametrize(
    "block",
    [
        "$ no-such-program",
        "$ false | true",
        "$ echo one\ntwo",
        "$ echo one; echo two\none",
        "$ echo one\none…two",
        "$ sh -c 'exit 3' > ready &\n$ true",
        "output without a command",
    ],
)
def test_a_broken_promise_is_noticed(block: str, tmp_path: Path) -> None:
    with pytest.raises(ConsoleError):
        run(f"```console\n{block}\n```\n", tmp_path)


def test_output_may_be_left_out_or_abridged(tmp_path: Path) -> None:
    run(
        "```console\n$ echo one > file\n$ cat file\none\n```\n"
        "```console\n$ echo a long line; echo b; echo c\na … line\n…\nc\n$ echo ignored\n```\n",
        tmp_path,
    )


def test_the_ports_of_a_page_are_free_ones_and_the_same_throughout(tmp_path: Path) -> None:
    run(
        "```console\n$ echo 8612 8613 > ports\n$ echo 8612\n8612\n$ echo 8612 >> ports\n```\n",
        tmp_path,
    )
    one, other, again = map(int, (tmp_path / "ports").read_text().split())
    assert one == again != other
    assert one != 8612


def test_a_background_command_is_waited_for_and_ended(tmp_path: Path) -> None:
    command = "exec bash -c 'echo $$; exec sleep 600' > ready &"
    page = f"```console\n$ {command}\n$ cat ready\n…\n```\n"
    run(page, tmp_path)
    pid = (tmp_path / "ready").read_text().strip()
    assert subprocess.run(["kill", "-0", pid], capture_output=True, check=False).returncode
