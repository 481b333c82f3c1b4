"""F15: every text of every page is there in Russian, and no page holds script or style itself."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from jinja2 import nodes

from rookery.web.pages.navigation import FLEET, PERSONAL
from rookery.web.pages.rendering import templates
from rookery.web.words.translation import PARTS, PageTranslation
from rookery.wire.fleet.telemetry import DEVICE_FIELDS

FOLDER = Path(__file__).parents[3] / "src" / "rookery" / "web" / "templates"
NAMES = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.html"))
# The same in both languages.
ALIKE = {"API", "MAC", "JSON", "RTT"}
INLINE = (
    re.compile(r"<script(?![^>]*\ssrc=)", re.IGNORECASE),
    re.compile(r"<style", re.IGNORECASE),
    re.compile(r"\sstyle\s*=", re.IGNORECASE),
    re.compile(r"<[^>]*\son[a-z]+\s*=", re.IGNORECASE),
    re.compile(r"javascript:", re.IGNORECASE),
    re.compile(r"\|\s*safe\b"),
)


def texts_of(name: str) -> Iterator[str]:
    """What a template says by `_("…")`."""
    tree = templates.parse((FOLDER / name).read_text())
    for call in tree.find_all(nodes.Call):
        is_text = isinstance(call.node, nodes.Name) and call.node.name == "_"
        if is_text and call.args and isinstance(call.args[0], nodes.Const):
            yield str(call.args[0].value)


@pytest.mark.parametrize("name", NAMES)
def test_every_text_has_a_russian_word(name: str) -> None:
    russian = PageTranslation("ru")
    missing = [text for text in texts_of(name) if text not in ALIKE and russian(text) == text]
    assert missing == []


def test_no_text_has_two_words() -> None:
    """The same English would be called this here and that there."""
    texts = Counter(text for part in PARTS for text in part.WORDS)
    assert [text for text, count in texts.items() if count > 1] == []


def test_texts_are_really_found() -> None:
    assert "Sign in" in set(texts_of("auth.html"))


def test_the_navigation_has_russian_words() -> None:
    russian = PageTranslation("ru")
    for section in (*PERSONAL, *FLEET):
        assert russian(section.title) != section.title
        assert russian(section.group) != section.group


def test_what_devices_report_has_russian_titles() -> None:
    russian = PageTranslation("ru")
    assert [each.title for each in DEVICE_FIELDS if russian(each.title) == each.title] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_template_holds_no_script_or_style_of_its_own(name: str) -> None:
    text = (FOLDER / name).read_text()
    assert [pattern.pattern for pattern in INLINE if pattern.search(text)] == []


@pytest.mark.parametrize(
    "bad",
    [
        "<script>alert(1)</script>",
        "<p style='color: red'>",
        '<a onclick="x()">',
        "<STYLE>",
        "{{ name | safe }}",
    ],
)
def test_what_is_refused_would_be_found(bad: str) -> None:
    assert any(pattern.search(bad) for pattern in INLINE)
