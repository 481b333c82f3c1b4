"""`rookery cp`: what its words mean; tests/e2e/mesh/test_copies.py has it copy something."""

from pathlib import Path

import pytest

from rookery.cli.main import main
from rookery.cli.mesh.cp import RemoteCopyPath, parse_place
from rookery.errors import UsageError


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("bob:inbox/a.txt", RemoteCopyPath("bob", "inbox/a.txt")),
        ("bob:inbox/a:b", RemoteCopyPath("bob", "inbox/a:b")),
        ("a.txt", Path("a.txt")),
        ("./bob:inbox", Path("bob:inbox")),
        ("/tmp/a:b", Path("/tmp/a:b")),
    ],
)
def test_a_colon_before_any_slash_is_another_node(text: str, place: RemoteCopyPath | Path) -> None:
    assert parse_place(text) == place


@pytest.mark.parametrize("text", ["", ":inbox/a", "bob:"])
def test_other_words_are_no_place(text: str) -> None:
    with pytest.raises(UsageError):
        parse_place(text)


def test_a_path_that_ends_in_a_slash_is_a_folder_for_the_file() -> None:
    assert str(RemoteCopyPath("bob", "inbox/").file("a.txt")) == "bob:inbox/a.txt"
    assert str(RemoteCopyPath("bob", "inbox/b").file("a.txt")) == "bob:inbox/b"


@pytest.mark.parametrize("path", ["inbox", "/etc/passwd", "inbox/../x", "inbox/.x.part"])
def test_a_path_that_is_not_allowed_is_refused_before_anybody_is_asked(path: str) -> None:
    with pytest.raises(UsageError, match="bob:"):
        RemoteCopyPath("bob", path).file("a.txt")


@pytest.mark.parametrize("words", [["a", "b"], ["bob:i/a", "carol:i/b"], ["a"], ["a", "bob:../b"]])
def test_one_of_the_two_is_here_and_one_is_there(words: list[str]) -> None:
    assert main(["cp", *words]) == 2


def test_without_a_node_nothing_is_copied(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a").write_text("x")
    code = main(["cp", str(tmp_path / "a"), "bob:inbox/a", "--id", str(tmp_path)])
    assert code == 3
    assert "no node is running" in capsys.readouterr().err
