"""Accounts, sessions, tokens, devices, codes, audit, settings: the same in both databases (F2)."""

import asyncio
import os

import msgspec
import pytest
from sqlalchemy.exc import IntegrityError

from rookery.errors import DeniedError, UsageError
from rookery.fleet.enrolment.code import EnrolmentCode
from rookery.store.accounts.accounts import Account, Accounts, LoginTakenError
from rookery.store.accounts.audit import DETAIL_SIZE_MAX, AuditRow, AuditTrail
from rookery.store.accounts.sessions import BrowserSession, BrowserSessions
from rookery.store.accounts.tokens import ApiTokens
from rookery.store.database.database import Database
from rookery.store.fleet.codes import EnrolmentCodes
from rookery.store.fleet.devices import Device, Devices
from rookery.store.hubs.settings import Settings
from tests.store.records import sender

NOW = 1_700_000_000.125
MAC = sender(1)


async def account(database: Database, login: str = "alice") -> Account:
    return await Accounts(database).add(login, "$argon2id$…", now=NOW)


class TestAccounts:
    async def test_one_is_found_by_login_and_number(self, database: Database) -> None:
        accounts = Accounts(database)
        alice = await accounts.add("Alice", "hash", now=NOW, role="admin")
        assert alice == Account(alice.id, "alice", "hash", "admin", NOW)
        assert await accounts.find("aLICE") == alice
        assert await accounts.get(alice.id) == alice
        assert await accounts.find("bob") is None
        assert await accounts.get(alice.id + 1) is None

    async def test_a_login_is_taken_once_by_concurrent_requests(self, database: Database) -> None:
        accounts = Accounts(database)
        results = await asyncio.gather(
            *(accounts.add(name, "hash", now=NOW) for name in ("alice", "ALICE", "Alice")),
            return_exceptions=True,
        )
        assert sorted(type(one).__name__ for one in results) == [
            "Account",
            "LoginTakenError",
            "LoginTakenError",
        ]
        with pytest.raises(LoginTakenError):
            await accounts.add("alice", "hash", now=NOW)
        assert await accounts.count() == 1

    @pytest.mark.parametrize("login", ["", " alice", "alice ", "a\nb", "a" * 65, "ß" * 33])
    async def test_some_texts_are_no_login(self, database: Database, login: str) -> None:
        with pytest.raises(UsageError, match="a login has"):
            await Accounts(database).add(login, "hash", now=NOW)
        assert await Accounts(database).find(login) is None

    async def test_names_of_all_scripts_are_distinct(self, database: Database) -> None:
        accounts = Accounts(database)
        for login in ("jose", "josé", "жозе", "何塞", "🐦", "'; DROP TABLE account; --"):
            await accounts.add(login, "hash", now=NOW)
        assert (await accounts.find("josé") or await account(database)).login == "josé"
        assert await accounts.find("jose ") is None
        assert await accounts.count() == 6

    async def test_they_are_listed_in_pages(self, database: Database) -> None:
        ours = [await account(database, f"user{number}") for number in range(5)]
        accounts = Accounts(database)
        assert await accounts.all(limit=3) == ours[:3]
        assert await accounts.all(after=ours[2].id, limit=3) == ours[3:]

    async def test_password_and_role_change(self, database: Database) -> None:
        accounts, alice = Accounts(database), await account(database)
        await accounts.set_password(alice.id, "other")
        await accounts.set_role(alice.id, "operator")
        changed = await accounts.get(alice.id)
        assert changed is not None
        assert (changed.password_hash, changed.role) == ("other", "operator")

    async def test_tokens_end_with_the_password_they_were_made_under(
        self, database: Database
    ) -> None:
        alice, bob = await account(database), await account(database, "bob")
        for one in (alice, bob):
            await ApiTokens(database).add(bytes([one.id]) * 32, one.id, "", (), now=NOW)
        await Accounts(database).set_password(alice.id, "other")
        assert await ApiTokens(database).of(alice.id) == []
        assert len(await ApiTokens(database).of(bob.id)) == 1

    async def test_sessions_but_one_and_open_codes_end_with_the_password(
        self, database: Database
    ) -> None:
        """Whoever knew the old one may have them; what was used stays on record."""
        alice, bob = await account(database), await account(database, "bob")
        kept = session(alice.id, 1)
        for each in (session(alice.id), kept, session(bob.id)):
            await BrowserSessions(database).add(each)
        for one in (alice, bob):
            await EnrolmentCodes(database).add(code(one.id), now=NOW)
        used = msgspec.structs.replace(code(alice.id), id=b"used".ljust(8))
        await EnrolmentCodes(database).add(used, now=NOW)
        assert await EnrolmentCodes(database).redeem(used.id, "somebody", NOW)
        await Accounts(database).set_password(alice.id, "other", kept=kept.key_hash)
        assert await BrowserSessions(database).of(alice.id, NOW) == [kept]
        assert [one.id for one in await EnrolmentCodes(database).of(alice.id)] == [used.id]
        assert len(await BrowserSessions(database).of(bob.id, NOW)) == len(
            await EnrolmentCodes(database).of(bob.id)
        )

    async def test_a_former_operator_adds_no_server(self, database: Database) -> None:
        olga = await account(database, "olga")
        router = code(olga.id)
        server = msgspec.structs.replace(router, id=b"server".ljust(8), kind="server")
        for each in (router, server):
            await EnrolmentCodes(database).add(each, now=NOW)
        await Accounts(database).set_role(olga.id, "admin")
        assert len(await EnrolmentCodes(database).of(olga.id)) == 2
        await Accounts(database).set_role(olga.id, "user")
        assert [one.id for one in await EnrolmentCodes(database).of(olga.id)] == [router.id]

    async def test_all_of_an_account_goes_with_it(self, database: Database) -> None:
        alice, bob = await account(database), await account(database, "bob")
        for one in (alice, bob):
            await BrowserSessions(database).add(session(one.id))
            await ApiTokens(database).add(bytes([one.id]) * 32, one.id, "", (), now=NOW)
            await Devices(database).claim(sender(one.id), one.id, "", now=NOW)
            await EnrolmentCodes(database).add(code(one.id), now=NOW)
        await Accounts(database).remove(alice.id)
        for one, expected in ((alice, 0), (bob, 1)):
            assert len(await BrowserSessions(database).of(one.id, NOW)) == expected
            assert len(await ApiTokens(database).of(one.id)) == expected
            assert len(await Devices(database).of(one.id)) == expected
            assert len(await EnrolmentCodes(database).of(one.id)) == expected

    def test_no_hash_is_shown(self) -> None:
        assert "$argon" not in repr(Account(1, "alice", "$argon2id$…", "user", NOW))


def session(of: int, number: int = 0, expires_at: float = NOW + 60) -> BrowserSession:
    key_hash = of.to_bytes(16, "big") + number.to_bytes(16, "big")
    return BrowserSession(key_hash, of, NOW, NOW + number, expires_at, "192.0.2.1", "a browser")


class TestSessions:
    async def test_one_lasts_until_it_expires(self, database: Database) -> None:
        sessions, alice = BrowserSessions(database), await account(database)
        ours = session(alice.id)
        await sessions.add(ours)
        assert await sessions.find(ours.key_hash, NOW + 59) == ours
        assert await sessions.find(ours.key_hash, NOW + 60) is None
        assert await sessions.find(bytes(32), NOW) is None

    async def test_using_it_prolongs_it(self, database: Database) -> None:
        sessions, alice = BrowserSessions(database), await account(database)
        ours = session(alice.id)
        await sessions.add(ours)
        await sessions.touch(ours.key_hash, NOW + 50, NOW + 200)
        found = await sessions.find(ours.key_hash, NOW + 100)
        assert found is not None
        assert (found.seen_at, found.expires_at) == (NOW + 50, NOW + 200)

    async def test_signing_out_is_final(self, database: Database) -> None:
        sessions, alice, bob = (
            BrowserSessions(database),
            await account(database),
            await account(database, "bob"),
        )
        ours = [session(alice.id, number) for number in range(3)]
        for one in (*ours, session(bob.id)):
            await sessions.add(one)
        assert await sessions.of(alice.id, NOW) == ours[::-1]
        await sessions.remove(ours[0].key_hash)
        assert await sessions.of(alice.id, NOW) == [ours[2], ours[1]]
        await sessions.remove_all(alice.id)
        assert await sessions.of(alice.id, NOW) == []
        assert len(await sessions.of(bob.id, NOW)) == 1

    async def test_expired_ones_are_purged(self, database: Database) -> None:
        sessions, alice = BrowserSessions(database), await account(database)
        await sessions.add(session(alice.id, 1, NOW + 1))
        await sessions.add(session(alice.id, 2, NOW + 3))
        assert await sessions.purge(NOW + 2) == 1
        assert len(await sessions.of(alice.id, NOW)) == 1

    async def test_a_long_story_of_a_browser_is_shortened(self, database: Database) -> None:
        sessions, alice = BrowserSessions(database), await account(database)
        await sessions.add(BrowserSession(bytes(32), alice.id, NOW, NOW, NOW + 9, "", "b" * 5000))
        (found,) = await sessions.of(alice.id, NOW)
        assert found.browser == "b" * 255


class TestTokens:
    async def test_one_is_found_until_it_expires(self, database: Database) -> None:
        tokens, alice = ApiTokens(database), await account(database)
        scopes = ("devices.read", "connect")
        ours = await tokens.add(b"h" * 32, alice.id, "laptop", scopes, now=NOW, expires_at=NOW + 9)
        assert await tokens.find(b"h" * 32, NOW + 8) == ours
        assert ours.scopes == scopes
        assert await tokens.find(b"h" * 32, NOW + 9) is None
        assert await tokens.find(b"g" * 32, NOW) is None
        lasting = await tokens.add(b"l" * 32, alice.id, "server", (), now=NOW)
        assert await tokens.find(b"l" * 32, NOW * 2) == lasting

    async def test_only_its_owner_removes_it(self, database: Database) -> None:
        tokens, alice, bob = (
            ApiTokens(database),
            await account(database),
            await account(database, "bob"),
        )
        ours = await tokens.add(b"h" * 32, alice.id, "", (), now=NOW)
        assert not await tokens.remove(ours.id, bob.id)
        await tokens.touch(ours.id, NOW + 5)
        assert [one.used_at for one in await tokens.of(alice.id)] == [NOW + 5]
        assert await tokens.remove(ours.id, alice.id)
        assert not await tokens.remove(ours.id, alice.id)
        assert await tokens.of(alice.id) == []

    async def test_names_have_a_bound(self, database: Database) -> None:
        alice = await account(database)
        with pytest.raises(UsageError):
            await ApiTokens(database).add(b"h" * 32, alice.id, "n" * 65, (), now=NOW)


class TestDevices:
    async def test_the_first_to_claim_it_owns_it(self, database: Database) -> None:
        devices, alice, bob = (
            Devices(database),
            await account(database),
            await account(database, "bob"),
        )
        ours = await devices.claim(MAC, alice.id, "attic", now=NOW)
        assert ours == Device(MAC, alice.id, "attic", NOW)
        with pytest.raises(DeniedError):
            await devices.claim(MAC, bob.id, "mine", now=NOW)
        assert await devices.claim(MAC, alice.id, "again", now=NOW) == ours
        assert await devices.find(MAC) == ours
        assert await devices.find(sender(2)) is None

    async def test_only_its_owner_changes_it(self, database: Database) -> None:
        devices, alice, bob = (
            Devices(database),
            await account(database),
            await account(database, "bob"),
        )
        await devices.claim(MAC, alice.id, "attic", now=NOW)
        assert not await devices.rename(MAC, bob.id, "mine")
        assert not await devices.release(MAC, bob.id)
        assert await devices.rename(MAC, alice.id, "cellar")
        assert await devices.rename(MAC, alice.id, "cellar")
        assert [one.name for one in await devices.of(alice.id)] == ["cellar"]
        assert await devices.release(MAC, alice.id)
        assert (await devices.claim(MAC, bob.id, "mine", now=NOW)).owner == bob.id

    async def test_they_are_listed_by_name_and_in_pages(self, database: Database) -> None:
        devices, alice = Devices(database), await account(database)
        for number, name in enumerate(("c", "a", "b")):
            await devices.claim(sender(number), alice.id, name, now=NOW)
        assert [one.name for one in await devices.of(alice.id)] == ["a", "b", "c"]
        first = await devices.all(limit=2)
        assert [one.mac for one in first] == [sender(0), sender(1)]
        assert [one.mac for one in await devices.all(after=sender(1))] == [sender(2)]
        assert await devices.count(alice.id) == 3

    async def test_names_have_a_bound(self, database: Database) -> None:
        alice = await account(database)
        for name in ("n" * 65, "a\x00b"):
            with pytest.raises(UsageError):
                await Devices(database).claim(MAC, alice.id, name, now=NOW)


def code(owner: int) -> EnrolmentCode:
    key = bytes([owner]) * 32
    return EnrolmentCode(id=key[:8], key=key, kind="router", owner=owner, expires_at=NOW + 60)


class TestCodes:
    async def test_one_works_once(self, database: Database) -> None:
        codes, alice = EnrolmentCodes(database), await account(database)
        ours = code(alice.id)
        await codes.add(ours, now=NOW)
        assert await codes.find([b"unknown!", ours.id]) == [None, ours]
        tries = [codes.redeem(ours.id, f"router {number}", NOW + 1) for number in range(8)]
        winners = [number for number, won in enumerate(await asyncio.gather(*tries)) if won]
        assert len(winners) == 1
        winner = f"router {winners[0]}"
        assert await codes.redeem(ours.id, winner, NOW + 500)
        assert not await codes.redeem(ours.id, "another", NOW + 2)
        (found,) = await codes.find([ours.id])
        assert found is not None
        assert found.used_by == winner

    async def test_none_works_late(self, database: Database) -> None:
        codes, alice = EnrolmentCodes(database), await account(database)
        ours = code(alice.id)
        await codes.add(ours, now=NOW)
        assert not await codes.redeem(ours.id, "router", NOW + 60)
        assert not await codes.redeem(b"unknown!", "router", NOW)
        assert await codes.purge(NOW + 60) == 0
        assert await codes.purge(NOW + 61) == 1

    async def test_owners_see_their_own_without_its_key(self, database: Database) -> None:
        codes, alice, bob = (
            EnrolmentCodes(database),
            await account(database),
            await account(database, "bob"),
        )
        for number, one in enumerate((alice, bob)):
            await codes.add(code(one.id), now=NOW + number)
        (issued,) = await codes.of(alice.id)
        assert not hasattr(issued, "key")
        assert (issued.id, issued.created_at, issued.used_at) == (code(alice.id).id, NOW, None)
        assert [one.owner for one in await codes.of(None)] == [bob.id, alice.id]
        assert not await codes.remove(issued.id, bob.id)
        assert await codes.remove(issued.id, alice.id)
        assert await codes.remove(code(bob.id).id)


class TestAudit:
    async def test_rows_are_found_newest_first_in_pages(self, database: Database) -> None:
        audit = AuditTrail(database)
        await audit.add()
        await audit.add(
            *(
                AuditRow(
                    at=NOW + number,
                    who="alice" if number % 2 else "bob",
                    what="device.claimed",
                    target=f"device {number % 3}",
                    detail={"number": number, "nested": ["é", None, 1.5]},
                    address="192.0.2.1",
                )
                for number in range(10)
            )
        )
        page = await audit.latest(limit=4)
        assert [row.at - NOW for row in page] == [9, 8, 7, 6]
        rest = await audit.latest(before=page[-1].id)
        assert [row.at - NOW for row in rest] == [5, 4, 3, 2, 1, 0]
        assert page[0].detail == {"number": 9, "nested": ["é", None, 1.5]}
        assert [row.at - NOW for row in await audit.latest(who="alice")] == [9, 7, 5, 3, 1]
        assert [row.at - NOW for row in await audit.latest(target="device 0")] == [9, 6, 3, 0]
        assert await audit.purge(NOW + 5) == 5
        assert len(await audit.latest()) == 5

    async def test_long_texts_of_an_audit_row_are_cut(self, database: Database) -> None:
        audit = AuditTrail(database)
        detail: dict[str, object] = {"text": "x" * DETAIL_SIZE_MAX}
        long = "🐦" * 5000
        row = AuditRow(at=NOW, who=long, what=long, target=long, detail=detail, address=long)
        await audit.add(row)
        (found,) = await audit.latest()
        assert found.who == "🐦" * 64
        assert list(found.detail) == ["omitted_bytes"]


class TestSettings:
    async def test_values_are_put_and_replaced(self, database: Database) -> None:
        settings = Settings(database)
        assert await settings.get("name") is None
        await settings.put("name", b"\x00\xff one")
        await settings.put("name", b"two")
        await settings.put("other", b"")
        assert await settings.get("name") == b"two"
        assert await settings.get("other") == b""

    async def test_all_hubs_have_one_master_secret(self, database: Database) -> None:
        """Whichever hub is first makes it."""
        hubs = [Settings(database) for _ in range(5)]
        secrets = await asyncio.gather(*(hub.master_secret(os.urandom) for hub in hubs))
        assert len(set(secrets)) == 1
        assert len(secrets[0]) == 32
        assert await hubs[0].master_secret(os.urandom) == secrets[0]

    async def test_each_hub_has_its_own_position(self, database: Database) -> None:
        settings = Settings(database)
        assert await settings.spool_position("one") is None
        await settings.save_spool_position("one", 1, now=NOW)
        await settings.save_spool_position("one", (1 << 62) + 1, now=NOW)
        await settings.save_spool_position("two", 2, now=NOW)
        assert await settings.spool_position("one") == (1 << 62) + 1
        assert await settings.spool_position("two") == 2


async def test_a_row_of_no_account_is_refused(database: Database) -> None:
    with pytest.raises(IntegrityError):
        await BrowserSessions(database).add(session(12345))
