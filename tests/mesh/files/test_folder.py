"""Folders: nothing is served unless told, to nobody else, and only read unless told."""

import pytest

from rookery.errors import UsageError
from rookery.mesh.files.fault import CopyError, FileFault
from rookery.mesh.files.folder import FOLDERS_MAX, FolderRule, FolderRules
from rookery.wire import base32

ALICE, BOB = (base32.encode(name * 8) for name in (b"alic", b"bobb"))


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("inbox=/srv/inbox", FolderRule("inbox", "/srv/inbox", False, None)),
        ("inbox=/srv/inbox:ro", FolderRule("inbox", "/srv/inbox", False, None)),
        ("inbox=/srv/inbox:rw", FolderRule("inbox", "/srv/inbox", True, None)),
        (f"inbox=in:rw from {ALICE}", FolderRule("inbox", "in", True, ALICE)),
        (f"inbox=in from {ALICE}", FolderRule("inbox", "in", False, ALICE)),
        ("a=/b=c:d", FolderRule("a", "/b=c:d", False, None)),
        ("a=:rw:ro", FolderRule("a", ":rw", False, None)),
    ],
)
def test_a_folder_says_where_what_and_for_whom(text: str, rule: FolderRule) -> None:
    assert FolderRule.parse(text) == rule
    assert FolderRule.parse(str(rule)) == rule


@pytest.mark.parametrize(
    "text", ["", "inbox", "inbox=", "=dir", "in box=dir", "a=:rw", "a=dir from bob"]
)
def test_anything_else_is_no_folder(text: str) -> None:
    with pytest.raises(UsageError):
        FolderRule.parse(text)


def fault(rules: FolderRules, name: str, who: str, *, to_write: bool) -> FileFault | None:
    try:
        rules.directory(name, who, to_write=to_write)
    except CopyError as error:
        return error.fault
    return None


@pytest.mark.parametrize("to_write", [False, True])
def test_without_folders_nothing_is_served(to_write: bool) -> None:
    assert fault(FolderRules(), "inbox", ALICE, to_write=to_write) is FileFault.FOLDER


def test_who_is_not_named_gets_nothing_of_it() -> None:
    rules = FolderRules.parse([f"inbox=/in:rw from {ALICE}"])
    assert rules.directory("inbox", ALICE, to_write=True) == "/in"
    assert fault(rules, "inbox", BOB, to_write=False) is FileFault.POLICY
    assert fault(rules, "inbox", BOB, to_write=True) is FileFault.POLICY
    assert fault(rules, "outbox", ALICE, to_write=False) is FileFault.FOLDER


def test_one_folder_may_be_more_to_one_than_to_all() -> None:
    rules = FolderRules.parse(["docs=/docs", f"docs=/docs:rw from {ALICE}"])
    assert rules.directory("docs", ALICE, to_write=True) == "/docs"
    assert rules.directory("docs", BOB, to_write=False) == "/docs"
    assert fault(rules, "docs", BOB, to_write=True) is FileFault.READ_ONLY
    assert str(rules) == f"docs=/docs:ro\ndocs=/docs:rw from {ALICE}"


def test_one_name_is_one_place() -> None:
    with pytest.raises(UsageError, match="two folders"):
        FolderRules.parse(["docs=/a", "docs=/b"])


def test_folders_are_bounded() -> None:
    with pytest.raises(UsageError, match="more than"):
        FolderRules.parse([f"f{number}=/d" for number in range(FOLDERS_MAX + 1)])
