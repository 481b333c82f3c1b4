"""A realm's folder: whole after crashes, shared by node and command line, clear when damaged."""

import json
import stat
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rookery.errors import DeniedError, ProtocolError, UsageError
from rookery.identity import signing
from rookery.identity.identity import Identity
from rookery.mesh.membership.issued_invitations import IssuedInvitation, secret_digest
from rookery.runtime.realm import files
from rookery.runtime.realm.authority import RealmAuthority, found
from rookery.runtime.realm.store import EPOCH_MAX, RealmStore
from rookery.wire.link.path import NetPath
from rookery.wire.link.uri import LinkAddress
from tests.mesh.realms import REALM, ROOT, ROOT_SEED, certify, identity

ALICE, BOB = identity("alice"), identity("bob")
NOW_S = int(time.time())
LINK = LinkAddress(ALICE.hashname, dict(ALICE.keys), (NetPath("udp4", "192.0.2.1", 1),))


def certificate(name: str = "alice", from_s: int = NOW_S, until_s: int = NOW_S + 9999) -> bytes:
    return certify(identity(name), name, ["relay"], from_s=from_s, until_s=until_s)


@pytest.fixture(autouse=True)
def stopped_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow run must not outlive what clocks may differ by: it is NOW_S all the time."""
    monkeypatch.setattr("time.time", lambda: float(NOW_S))


@pytest.fixture
def store(tmp_path: Path) -> RealmStore:
    return RealmStore.create(tmp_path / "realm", REALM, certificate(), seed=ROOT_SEED)


def test_what_was_stored_is_there_again(store: RealmStore) -> None:
    again = RealmStore(store.folder)
    assert again.realm == REALM
    assert again.certificate() == certificate()
    assert again.is_founded_here
    assert again.statements() == [certificate()]
    assert again.membership(NOW_S).own.name == "alice"


def test_secrets_are_for_their_owner_alone(store: RealmStore) -> None:
    for file in store.folder.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(store.folder.stat().st_mode) == 0o700


def test_every_file_says_its_version(store: RealmStore) -> None:
    store.next_epoch()
    store.save_link(LINK)
    RealmAuthority(store).invite(LINK)
    names = [file for file in store.folder.iterdir() if not file.name.startswith(".")]
    assert len(names) == 8
    for file in names:
        assert json.loads(file.read_text())["v"] == 1


def test_a_realm_is_never_overwritten(store: RealmStore) -> None:
    with pytest.raises(UsageError, match="holds a realm already"):
        RealmStore.create(store.folder, REALM, certificate())


def test_a_folder_without_a_realm_names_the_next_command(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="rookery realm init"):
        RealmStore(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xff",
        b"[" * 100_000,
        b'{"v":2,"name":"test","root":""}',
        b'{"v":1,"name":"test"}',
        b'{"name":"test","root":"AAAA"}',
        b'{"v":1,"name":"test","root":"AAAA"}',
        b'{"v":1,"name":"test","root":"AAAA","more":1}',
    ],
)
def test_a_damaged_file_is_one_clear_error(store: RealmStore, content: bytes) -> None:
    (store.folder / "realm.json").write_bytes(content)
    with pytest.raises(UsageError, match=r"realm.json is damaged"):
        RealmStore(store.folder)


def test_damage_elsewhere_is_named_too(store: RealmStore) -> None:
    (store.folder / "authority.key").write_text('{"v":1,"seed":"AAAA"}')
    with pytest.raises(UsageError, match=r"authority.key is damaged"):
        store.authority()
    (store.folder / "peers.json").write_text('{"v":1,"peers":[{"keys":5}]}')
    with pytest.raises(UsageError, match=r"peers.json is damaged"):
        store.peers()
    (store.folder / "certificate.json").write_text('{"v":1,"certificate":"AAAA"}')
    with pytest.raises(UsageError, match="of no use"):
        store.membership(NOW_S)
    (store.folder / "certificate.json").unlink()
    with pytest.raises(UsageError, match="no certificate"):
        store.certificate()


def test_the_wrong_authority_key_is_noticed(store: RealmStore) -> None:
    files.write(store.folder / "authority.key", {"v": 1, "seed": bytes(32)})
    with pytest.raises(UsageError, match="does not sign"):
        store.authority()


def test_a_folder_that_cannot_be_read_or_written_says_why(store: RealmStore) -> None:
    (store.folder / "epoch.json").mkdir()
    with pytest.raises(UsageError, match=r"cannot read .*epoch.json: Is a directory"):
        store.next_epoch()
    (store.folder / "link.json").mkdir()
    with pytest.raises(UsageError, match=r"cannot write .*link.json"):
        store.save_link(LINK)
    assert not [file for file in store.folder.iterdir() if file.name.startswith(".link")]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
def test_a_full_disk_leaves_the_old_file(
    store: RealmStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = store.next_epoch()

    def full(_: int) -> None:
        Path("/dev/full").write_bytes(b"x")

    monkeypatch.setattr("rookery.runtime.realm.files.os.fsync", full)
    with pytest.raises(UsageError, match=r"cannot write .*epoch.json: No space left"):
        store.next_epoch()
    monkeypatch.undo()
    assert store.next_epoch() > before


def test_a_folder_that_is_gone_says_so(tmp_path: Path, store: RealmStore) -> None:
    store.folder.rename(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="cannot lock"):
        store.next_epoch()
    assert store.take_new_statements() == []


# --- epochs ---


def test_epochs_grow_over_restarts_and_threads(store: RealmStore) -> None:
    """R1: no two starts have the same one."""
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: RealmStore(store.folder).next_epoch(), range(40)))
    assert len(set(made)) == 40
    assert store.next_epoch() > max(made)


def test_an_epoch_never_falls_behind_the_clock(store: RealmStore) -> None:
    """R1: a folder restored from a backup does not repeat what others know already."""
    assert store.next_epoch() >= NOW_S
    files.write(store.folder / "epoch.json", {"v": 1, "epoch": 5})
    assert store.next_epoch() >= NOW_S
    files.write(store.folder / "epoch.json", {"v": 1, "epoch": EPOCH_MAX - 1})
    assert store.next_epoch() == EPOCH_MAX
    with pytest.raises(UsageError, match="no epoch left"):
        store.next_epoch()


def test_epochs_of_processes_killed_at_any_moment_are_distinct(store: RealmStore) -> None:
    """R1: an epoch that was printed was on disk before."""
    program = (
        "import sys; from pathlib import Path\n"
        "from rookery.runtime.realm.store import RealmStore\n"
        "store = RealmStore(Path(sys.argv[1]))\n"
        "while True: print(store.next_epoch(), flush=True)\n"
    )
    seen: list[int] = []
    for lines in (1, 3, 7):
        command = [sys.executable, "-c", program, str(store.folder)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            seen += [int(process.stdout.readline()) for _ in range(lines)]
            process.kill()
            seen += [int(line) for line in process.stdout if line.endswith(b"\n")]
    assert sorted(set(seen)) == seen


# --- statements ---


def test_new_statements_reach_the_running_node(store: RealmStore) -> None:
    node = RealmStore(store.folder)
    assert node.take_new_statements() == [certificate()]
    assert node.take_new_statements() == []
    revocation = ROOT.revoke(BOB.hashname, NOW_S)
    store.add_statements([revocation])
    assert node.take_new_statements() == [revocation]
    node.remember([certificate("carol")])
    assert node.take_new_statements() == []
    assert set(store.statements()) == {certificate(), revocation, certificate("carol")}


def test_the_folder_keeps_the_last_word_on_each_and_forgets_what_is_over(
    store: RealmStore,
) -> None:
    old = certificate("bob", NOW_S - 10)
    new = certificate("bob", NOW_S - 5)
    over = certificate("carol", NOW_S - 10, NOW_S - 1)
    store.add_statements([new, old, over, b"nonsense"])
    assert store.statements() == [certificate(), new]
    revoked = ROOT.revoke(BOB.hashname, NOW_S)
    store.add_statements([ROOT.revoke(BOB.hashname, NOW_S - 1), revoked])
    assert store.statements() == [certificate(), new, revoked]
    assert {member.name for member in store.membership(NOW_S).members.values()} == {"alice"}


def test_a_younger_certificate_of_ours_is_kept(store: RealmStore) -> None:
    younger = certify(ALICE, "renamed", from_s=NOW_S + 1, until_s=NOW_S + 99)
    store.save_certificate(younger)
    assert RealmStore(store.folder).membership(NOW_S).own.name == "renamed"


# --- who signs ---


def test_only_the_founder_and_issuers_sign(tmp_path: Path, store: RealmStore) -> None:
    assert store.authority() is not None
    plain = RealmStore.create(tmp_path / "plain", REALM, certificate())
    assert plain.authority(ALICE) is None
    with pytest.raises(UsageError, match="where it was founded"):
        RealmAuthority(plain, ALICE)
    own = certify(BOB, "bob", ["issuer"], from_s=NOW_S, until_s=NOW_S + 500_000)
    issuer = RealmStore.create(tmp_path / "issuer", REALM, own)
    assert issuer.authority() is None
    with pytest.raises(UsageError, match="belongs to"):
        issuer.authority(ALICE)
    made = RealmAuthority(issuer, BOB).certify(
        ALICE.keys[0x40], {}, hashname=ALICE.hashname, name="alice", roles=[]
    )
    group = store.membership(NOW_S)
    group.admit(own, NOW_S)
    assert not group.admit(made, NOW_S)  # she is the root's already
    assert issuer.membership(NOW_S).admit(made, NOW_S)


def test_an_issuer_decides_only_of_those_it_took_in(tmp_path: Path) -> None:
    own = certify(BOB, "bob", ["issuer"], from_s=NOW_S - 9, until_s=NOW_S + 500_000)
    store = RealmStore.create(tmp_path / "issuer", REALM, own)
    authority = RealmAuthority(store, BOB)
    carol = identity("carol")
    taken_in = authority.certify(
        carol.keys[0x40], {}, hashname=carol.hashname, name="carol", roles=[]
    )
    store.add_statements([taken_in, certificate()])
    alice = store.membership(time.time()).by_hashname(ALICE.hashname)
    assert alice is not None
    with pytest.raises(DeniedError, match="and alice is not one of them"):
        authority.renew(alice)
    with pytest.raises(DeniedError, match="and alice is not one of them"):
        authority.revoke(ALICE.hashname)
    authority.revoke(carol.hashname)
    names = {member.name for member in store.membership(time.time()).members.values()}
    assert names == {"alice", "bob"}


def test_a_founder_is_the_first_member(tmp_path: Path) -> None:
    store = found(tmp_path / "realm", "home", ALICE, member_name="alice")
    own = store.membership(time.time()).own
    assert (own.name, own.hashname) == ("alice", ALICE.hashname)
    assert own.roles == {"relay"}
    assert store.peers() == []
    with pytest.raises(UsageError, match="cipher set 40"):
        found(tmp_path / "other", "home", identity("old", (0x3A,)), member_name="a")
    with pytest.raises(UsageError, match="1 to 32"):
        found(tmp_path / "other", "", ALICE, member_name="a")
    assert not (tmp_path / "other").exists()


def test_a_revoked_member_can_be_certified_again_at_once(store: RealmStore) -> None:
    authority = RealmAuthority(store)
    store.add_statements([certificate("bob")])
    authority.revoke(BOB.hashname)
    assert BOB.hashname in store.membership(time.time()).revoked
    made = authority.certify(BOB.keys[0x40], {}, hashname=BOB.hashname, name="bob", roles=[])
    assert store.membership(time.time()).admit(made, time.time())


def test_a_member_can_be_renewed_with_other_roles(store: RealmStore) -> None:
    authority = RealmAuthority(store)
    store.add_statements([certificate("bob", NOW_S - 5)])
    bob = store.membership(NOW_S).by_hashname(BOB.hashname)
    assert bob is not None
    authority.renew(bob, ["exit"])
    renewed = store.membership(time.time()).by_hashname(BOB.hashname)
    assert renewed is not None
    assert renewed.roles == {"exit"}
    assert renewed.name == "bob"


def test_a_former_issuer_admits_no_member(tmp_path: Path, store: RealmStore) -> None:
    """Nor with the certificate it had; those whom it took in before stay members as they were."""
    own = certify(BOB, "bob", ["issuer"], from_s=NOW_S - 9, until_s=NOW_S + 500_000)
    bobs = RealmAuthority(RealmStore.create(tmp_path / "issuer", REALM, own), BOB)
    carol, dave = identity("carol"), identity("dave")

    def taken_in(issued: Identity, name: str) -> bytes:
        key = issued.keys[0x40]
        return bobs.certify(key, {}, hashname=issued.hashname, name=name, roles=["exit"])

    store.add_statements([own, taken_in(carol, "carol")])
    before = store.membership(NOW_S)
    bob, known = (before.by_hashname(each.hashname) for each in (BOB, carol))
    assert bob is not None
    assert known is not None
    RealmAuthority(store).renew(bob, ["relay"])
    after = store.membership(NOW_S)
    assert {one.name for one in after.members.values()} == {"alice", "bob", "carol"}
    kept = after.by_hashname(carol.hashname)
    assert kept is not None
    assert (kept.roles, kept.not_after_s) == (known.roles, known.not_after_s)
    assert after.own.name == "alice"
    with pytest.raises(ProtocolError, match="revoked"):
        after.admit(taken_in(dave, "dave"), NOW_S)


def test_renewing_ourselves_changes_our_own_certificate(tmp_path: Path) -> None:
    own = certify(ALICE, "alice", from_s=NOW_S - 50, until_s=NOW_S + 50)
    store = RealmStore.create(tmp_path / "own", REALM, own, seed=ROOT_SEED)
    made = RealmAuthority(store).renew(store.membership(NOW_S).own)
    assert store.certificate() == made
    assert store.membership(time.time()).own.not_after_s > NOW_S + 50


# --- invitations and addresses ---


def test_an_invitation_is_stored_without_its_secret(store: RealmStore) -> None:
    invited, invitation = RealmAuthority(store).invite(LINK, roles=["exit"], name="bob")
    (stored,) = store.invitations()
    assert stored == invited
    assert stored.digest == secret_digest(invitation.secret)
    assert invitation.secret not in (store.folder / "invitations.json").read_bytes()
    assert stored.roles == {"exit"}
    assert stored.name == "bob"


@pytest.mark.parametrize(
    ("roles", "name", "lifetime_s", "member_s"),
    [
        (["king"], "", 1, 1),
        ([], "\x1b", 1, 1),
        ([], "", 0, 1),
        ([], "", 31 * 86_400, 1),
        ([], "", 1, 0),
        ([], "", 1, 4000 * 86_400),
    ],
)
def test_an_impossible_invitation_is_not_stored(
    store: RealmStore, roles: list[str], name: str, lifetime_s: int, member_s: int
) -> None:
    with pytest.raises(UsageError):
        RealmAuthority(store).invite(
            LINK, roles=roles, name=name, lifetime_s=lifetime_s, member_s=member_s
        )
    assert list(store.invitations()) == []


def test_what_a_refusal_changed_is_kept_what_failed_is_not(store: RealmStore) -> None:
    over = IssuedInvitation(secret_digest(b"x"), frozenset(), "", NOW_S - 9, NOW_S - 1, 5)
    with store.changing_invitations() as invitations:
        invitations.add(over, NOW_S)
    with pytest.raises(ProtocolError), store.changing_invitations() as invitations:
        invitations.find(b"x", BOB.hashname, NOW_S)
    assert [one.refused[0].hashname for one in store.invitations()] == [BOB.hashname]
    with pytest.raises(UsageError), store.changing_invitations() as invitations:
        invitations.withdraw(over.id, NOW_S)
    assert [one.withdrawn_s for one in store.invitations()] == [None]


def test_links_are_kept(store: RealmStore, tmp_path: Path) -> None:
    assert store.link() is None
    store.save_link(LINK)
    assert store.link() == LINK
    joined = RealmStore.create(tmp_path / "joined", REALM, certificate(), peers=[LINK])
    assert RealmStore(joined.folder).peers() == [LINK]


def test_the_seed_makes_the_root(store: RealmStore) -> None:
    assert signing.public(ROOT_SEED) == store.realm.root
