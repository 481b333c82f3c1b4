"""Paths of files: plain names below a folder, and nothing that could lead out of it."""

import posixpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError
from rookery.mesh.files.path import (
    FOLDER_SIZE_MAX,
    NAME_SIZE_MAX,
    PATH_SIZE_MAX,
    FilePath,
    is_folder,
    is_name,
    part_name,
)

# What attacks are made of, between what names are made of.
pieces = st.sampled_from(["..", ".", "/", "//", "\0", "a", "b.txt", "\\", "~", " ", "é", ".a.part"])


@pytest.mark.parametrize(
    "text", ["inbox/a", "inbox/a/b/c.txt", "in.box-2/ü", "a/...", "a/..b", "a/ x ", "a/~", "a/.x"]
)
def test_plain_names_are_a_path(text: str) -> None:
    path = FilePath.parse(text)
    assert str(path) == text
    assert path.name == text.rpartition("/")[2]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "inbox",
        "inbox/",
        "/inbox/a",
        "/etc/passwd",
        "../a",
        "inbox/..",
        "inbox/../a",
        "inbox/a/../../b",
        "inbox/./a",
        "inbox//a",
        "inbox/a/",
        "inbox/a\0b",
        "inbox/a\nb",
        "inbox/a\x7f",
        "inbox/\ud800",
        "in box/a",
        ".inbox/a",
        "inbox/.a.part",
        "inbox/..part",
        "inbox/" + "x" * (NAME_SIZE_MAX + 1),
        "inbox/" + "é" * (NAME_SIZE_MAX // 2 + 1),
        "inbox" + "/x" * (PATH_SIZE_MAX // 2),
        "x" * (FOLDER_SIZE_MAX + 1) + "/a",
    ],
)
def test_anything_else_is_none(text: str) -> None:
    with pytest.raises(DecodeError):
        FilePath.parse(text)


@given(st.lists(pieces, max_size=12).map("".join) | st.text(max_size=40))
def test_no_path_leads_out_of_its_folder(text: str) -> None:
    """Judged by the rules of the system itself, not by ours."""
    try:
        path = FilePath.parse(f"inbox/{text}")
    except DecodeError:
        return
    led_to = posixpath.normpath(posixpath.join("/srv/inbox", *path.parts))
    assert led_to == "/srv/inbox/" + text
    assert "\0" not in text


@given(st.text(min_size=1, max_size=260))
def test_a_part_is_no_name_that_anybody_can_ask_for(name: str) -> None:
    if is_name(name):
        assert not is_name(part_name(name))
        assert len(part_name(name).encode()) <= 255


@pytest.mark.parametrize("name", ["", "a b", "a/b", ".a", "-a", "a:b", "é", "a\n"])
def test_a_folder_has_a_simple_name(name: str) -> None:
    assert not is_folder(name)
