"""`rookery realm`: founded, invited, joined, listed, revoked, by real processes."""

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

import pytest

from rookery.cli.main import main
from rookery.mesh.membership.invitation import Invitation
from rookery.runtime.endpoint import keystore
from rookery.runtime.realm.store import RealmStore
from rookery.wire.link.path import NetPath
from rookery.wire.link.uri import LinkAddress
from tests.cli.program import Running, rookery, running


class Home(NamedTuple):
    """A realm founded by alice; bob and carol have keys."""

    folder: Path
    realm: Path
    alice: Path
    bob: Path
    carol: Path


@pytest.fixture
def home(tmp_path: Path) -> Home:
    for name in ("alice", "bob", "carol"):
        keystore.create(tmp_path / name, [0x40, 0x3A])
    made = Home(tmp_path, tmp_path / "home", *(tmp_path / n for n in ("alice", "bob", "carol")))
    assert rookery("realm", "init", made.realm, "--name", "home", "--id", made.alice).code == 0
    RealmStore(made.realm).save_link(link_of(made.alice))
    return made


def link_of(folder: Path) -> LinkAddress:
    identity = keystore.load(folder)
    paths = (NetPath("udp4", "127.0.0.1", 9),)
    return LinkAddress(identity.hashname, dict(identity.keys), paths)


@pytest.fixture
def inviter(home: Home) -> Iterator[Running]:
    """Alice waits for an endpoint to join."""
    with waiting(home) as process:
        yield process


def waiting(home: Home) -> AbstractContextManager[Running]:
    return running("realm", "invite", "--realm", home.realm, "--id", home.alice, "--wait", "--json")


def test_from_nothing_to_a_member_and_out_again(home: Home, inviter: Running) -> None:
    url = home.folder / "url"
    url.write_text(Invitation.parse(json_of(inviter.line())["url"]).url())
    realm = home.folder / "bobs"
    joined = rookery("realm", "join", url, "--realm", realm, "--id", home.bob, "--json").json()
    bob = keystore.load(home.bob).hashname
    assert (joined["hashname"], joined["name"], joined["roles"]) == (bob, "bob", ["relay"])
    assert json_of(inviter.line()) == {"v": 1, "hashname": bob, "name": "bob"}
    assert inviter.wait() == 0
    assert RealmStore(realm).peers()[0].hashname == keystore.load(home.alice).hashname
    members = rookery("realm", "members", "--realm", home.realm, "--json").json_lines()
    assert [(one["name"], one["state"]) for one in members] == [
        ("alice", "member"),
        ("bob", "member"),
    ]
    (used,) = rookery("realm", "invitations", "--realm", home.realm, "--json").json_lines()
    assert (used["state"], used["used_by"]) == ("used", bob)
    revoked = rookery("realm", "revoke", bob, "--realm", home.realm, "--json").json()
    assert (revoked["hashname"], revoked["name"]) == (bob, "bob")
    table = rookery("realm", "members", "--realm", home.realm).out
    assert "revoked" in table
    assert rookery("realm", "show", "--realm", home.realm, "--json").json()["members"] == 1


def test_a_stolen_invitation_is_seen_and_its_thief_revoked(home: Home, inviter: Running) -> None:
    url = str(json_of(inviter.line())["url"])
    thief = rookery("realm", "join", url, "--realm", home.folder / "t", "--id", home.carol)
    assert thief.code == 0
    inviter.line()
    assert inviter.wait() == 0
    with waiting(home) as other:
        fresh = Invitation.parse(str(json_of(other.line())["url"]))
        stolen = Invitation.parse(url)
        moved = Invitation.of(fresh.realm, stolen.secret, fresh.expires_s, where(fresh, home))
        late = rookery("realm", "join", moved.url(), "--realm", home.folder / "b", "--id", home.bob)
        assert late.code == 4
        assert "this invitation has been used" in late.complaint()
        assert keystore.load(home.bob).hashname in other.error_line() + other.error_line()
    first, _ = rookery("realm", "invitations", "--realm", home.realm, "--json").json_lines()
    carol, bob = (keystore.load(folder).hashname for folder in (home.carol, home.bob))
    assert first["used_by"] == carol
    assert [one["hashname"] for one in first["refused"]] == [bob]  # type: ignore[attr-defined]
    assert carol in rookery("realm", "invitations", "--realm", home.realm).out
    assert rookery("realm", "revoke", carol[:10], "--realm", home.realm).code == 0
    assert not (home.folder / "b").exists()


def where(fresh: Invitation, home: Home) -> LinkAddress:
    return LinkAddress(None, dict(keystore.load(home.alice).keys), fresh.paths)


def json_of(line: str) -> dict[str, str]:
    value = json.loads(line)
    assert isinstance(value, dict)
    return value


def test_an_invitation_for_a_running_node(home: Home) -> None:
    shown = rookery("realm", "invite", "--realm", home.realm, "--roles", "exit", "--qr")
    invitation = Invitation.parse(shown.out)
    assert invitation.hashname == keystore.load(home.alice).hashname
    assert "█" in shown.err
    assert "one endpoint with this URL can join" in shown.err
    link = home.folder / "link"
    link.write_text(link_of(home.alice).uri())
    assert rookery("realm", "invite", "--realm", home.realm, "--link", link).code == 0
    one, two = rookery("realm", "invitations", "--realm", home.realm, "--json").json_lines()
    assert (one["roles"], one["state"], two["roles"]) == (["exit"], "open", ["relay"])
    assert rookery("realm", "withdraw", str(one["id"]), "--realm", home.realm).code == 0
    again = rookery("realm", "withdraw", str(one["id"]), "--realm", home.realm)
    assert (again.code, "is withdrawn" in again.complaint()) == (2, True)
    remark = rookery("realm", "revoke", keystore.load(home.bob).hashname, "--realm", home.realm)
    assert "invitations are still open" in remark.err


def test_an_invitation_that_is_not_used_in_time(home: Home) -> None:
    waited = rookery(
        *("realm", "invite", "--realm", home.realm, "--id", home.alice, "--wait"),
        *("--minutes", "0.02"),
    )
    assert waited.code == 5
    assert "the invitation was not used in time" in waited.err


def test_a_member_is_renewed_with_other_roles(home: Home) -> None:
    renewed = rookery(
        *("realm", "renew", "alice", "--realm", home.realm, "--roles", "exit,hub"), "--json"
    ).json()
    assert (renewed["roles"], renewed["state"]) == (["exit", "hub"], "member")
    plain = rookery("realm", "renew", "alice", "--realm", home.realm, "--days", "10").out
    assert "exit,hub" in plain
    assert rookery("realm", "show", "--realm", home.realm, "--json").json()["roles"] == [
        "exit",
        "hub",
    ]


def test_a_new_realm_lists_nothing_but_its_founder(home: Home) -> None:
    empty = rookery("realm", "invitations", "--realm", home.realm)
    assert (empty.out, empty.err) == ("", "there are no invitations yet\n")
    shown = rookery("realm", "show", "--realm", home.realm).out
    assert "founded here      yes" in shown
    assert keystore.load(home.alice).hashname in shown


def test_the_authority_key_is_for_its_owner(home: Home) -> None:
    assert (home.realm / "authority.key").stat().st_mode & 0o777 == 0o600
    init = rookery("realm", "init", home.folder / "x", "--name", "x", "--id", home.bob, "--json")
    assert init.json()["founded_here"] is True
    seed = (home.realm / "authority.key").read_text().split('"')[-2]
    assert seed not in init.out + rookery("realm", "show", "--realm", home.realm, "--json").out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["init", "HOME", "--name", "x", "--id", "ALICE"], "holds a realm already"),
        (["init", "NEW", "--name", "", "--id", "ALICE"], "1 to 32"),
        (["init", "NEW", "--name", "x", "--id", "NEW"], "no keys in"),
        (["init", "NEW", "--name", "x", "--id", "ALICE", "--roles", "king"], "king"),
        (["show", "--realm", "NEW"], "no realm in"),
        (["invite", "--realm", "HOME", "--wait"], "give --id"),
        (["invite", "--realm", "HOME", "--roles", "king"], "no role is called"),
        (["invite", "--realm", "HOME", "--link", "nowhere"], "no link and no file"),
        (["invite", "--realm", "HOME", "--minutes", "0"], "30 days"),
        (["join", "rookery:join/aaaa", "--realm", "NEW", "--id", "BOB"], "not copied whole"),
        (["join", "nothing", "--realm", "NEW", "--id", "BOB"], "no invitation and no file"),
        (["join", "x", "--realm", "NEW"], "give --id"),
        (["revoke", "nobody", "--realm", "HOME"], "no member is called"),
        (["revoke", "alice", "--realm", "HOME"], "ourselves"),
        (["renew", "BOBNAME", "--realm", "HOME"], "is no member"),
        (["withdraw", "12345678", "--realm", "HOME"], "no invitation"),
    ],
    ids=lambda value: " ".join(value[:3]) if isinstance(value, list) else "",
)
def test_wrong_usage_is_one_line(
    home: Home, arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = {
        "HOME": home.realm,
        "NEW": home.folder / "new",
        "ALICE": home.alice,
        "BOB": home.bob,
        "BOBNAME": keystore.load(home.bob).hashname,
    }
    assert main(["realm", *(str(words.get(word, word)) for word in arguments)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert says in line


def test_joining_needs_cipher_set_40_and_a_new_folder(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    keystore.create(home.folder / "old", [0x3A])
    old = ["--id", str(home.folder / "old")]
    assert main(["realm", "join", "x", "--realm", "y", *old]) == 2
    assert "cipher set 40" in capsys.readouterr().err
    assert main(["realm", "invite", "--realm", str(home.realm)]) == 0
    url = capsys.readouterr().out
    bob = ["--id", str(home.bob)]
    assert main(["realm", "join", url, "--realm", str(home.realm), *bob]) == 2
    assert "holds a realm already" in capsys.readouterr().err


def test_an_inviter_that_is_away_is_unreachable(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["realm", "invite", "--realm", str(home.realm)]) == 0
    url = capsys.readouterr().out
    new = ["--realm", str(home.folder / "new"), "--id", str(home.bob), "--timeout", "0.3"]
    assert main(["realm", "join", url, *new]) == 3
    assert "ask the member that invited you" in capsys.readouterr().err
    assert not (home.folder / "new").exists()


def test_an_invitation_is_read_from_stdin(home: Home) -> None:
    url = rookery("realm", "invite", "--realm", home.realm).out.encode()
    new = ["--realm", str(home.folder / "new"), "--id", str(home.bob), "--timeout", "0.3"]
    assert rookery("realm", "join", "-", *new, stdin=url).code == 3
    assert rookery("realm", "join", "-", *new, stdin=b"\xff").code == 2


def test_a_member_that_is_no_authority_signs_nothing(home: Home, inviter: Running) -> None:
    url = str(json_of(inviter.line())["url"])
    realm = home.folder / "bobs"
    assert rookery("realm", "join", url, "--realm", realm, "--id", home.bob).code == 0
    refused = rookery("realm", "invite", "--realm", realm, "--id", home.bob)
    assert (refused.code, "where it was founded" in refused.complaint()) == (2, True)
    assert rookery("realm", "revoke", "bob", "--realm", realm, "--id", home.bob).code == 2
