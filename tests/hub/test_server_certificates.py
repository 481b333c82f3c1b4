"""Certificates for servers: whose, for which names, and what a hostile one gets (M7)."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rookery.errors import UsageError
from rookery.fleet.entry import copied, server_id
from rookery.hub import key_files
from rookery.hub.hub import Hub
from rookery.hub.key_files import hub_authority
from rookery.hub.server_certificates import EACH_S
from rookery.hub.settings import HubSettings
from rookery.identity.identity import Identity
from rookery.runtime.fleet.sealed_connection import SealedConnection
from rookery.runtime.tls.authority import SERVER_MARK, CertificateAuthority
from rookery.runtime.tls.certificate import Credential, PrivateKey, SigningRequest, new_key
from rookery.store.accounts.audit import AuditTrail
from rookery.store.database.database import Database
from rookery.store.hubs.settings import Settings
from rookery.wire.fleet.messages import (
    CertifiedMessage,
    CertifyMessage,
    FaultCode,
    FaultMessage,
    Message,
    decode,
    encode,
)
from tests.hub.conftest import Start, new_code, with_
from tests.hub.device import path
from tests.hub.identities import identity
from tests.hub.server import Server
from tests.patience import PATIENCE_S


@pytest.fixture
async def hub(settings: HubSettings, start: Start) -> Hub:
    return await start(with_(settings, is_authority=True))


@pytest.fixture
async def server(hub: Hub) -> AsyncIterator[Server]:
    """Enrolled, and its load is known."""
    code = await new_code(hub, "server")
    async with Server(hub.link, identity("server"), code) as made:
        await made.report()
        yield made


async def asked(hub: Hub, who: Identity, message: Message) -> Message:
    """What the hub answers."""
    address = path(hub.link, "tcp").address
    line = await SealedConnection.dial(
        who, hub.hashname, hub.link.keys, *address, timeout_s=PATIENCE_S
    )
    line.send(encode(message))
    async with asyncio.timeout(PATIENCE_S):
        tlv = await line.receive()
    line.close()
    assert tlv is not None
    return decode(tlv)


def request(*names: str, key: PrivateKey | None = None) -> CertifyMessage:
    return CertifyMessage(SigningRequest.serialize(key or new_key(), names))


async def audited(hub: Hub, what: str) -> list[str]:
    await hub._audit_log.flush()
    return [str(row.detail) for row in await AuditTrail(hub.database).latest(what=what)]


async def test_a_server_gets_a_certificate_for_the_address_it_announces(
    hub: Hub, server: Server
) -> None:
    key = new_key()
    answer = await asked(hub, server.identity, request("127.0.0.1", key=key))
    assert isinstance(answer, CertifiedMessage)
    made = Credential.of_answer(key, answer.chain)
    assert made.names == {"127.0.0.1"}
    assert hub.authority is not None
    assert hub.authority.has_signed(made)
    text = str(made.chain[0].extensions)
    assert SERVER_MARK + server.identity.hashname in text
    assert await audited(hub, "server.certified") == ["{'detail': '127.0.0.1'}"]


@pytest.mark.parametrize("names", [("192.0.2.1",), ("hub.example.org",), ("127.0.0.1", "::1")])
async def test_a_name_that_it_does_not_announce_is_refused_and_on_record(
    names: tuple[str, ...], hub: Hub, server: Server
) -> None:
    answer = await asked(hub, server.identity, request(*names))
    assert isinstance(answer, FaultMessage)
    assert answer.code == FaultCode.DENIED
    assert "does not announce" in answer.text
    (told,) = await audited(hub, "security.foreign_name")
    assert "does not announce" in told


async def test_announcing_the_address_of_another_server_is_not_enough(
    hub: Hub, server: Server
) -> None:
    """A hostile server reports the victim's address as its own: the victim answers there."""
    async with Server(hub.link, identity("mallory"), await new_code(hub, "server")) as mallory:
        mallory.tcp = server.tcp
        await mallory.report()
        answer = await asked(hub, mallory.identity, request("127.0.0.1"))
    assert isinstance(answer, FaultMessage)
    assert answer.code == FaultCode.DENIED
    assert "does not answer at 127.0.0.1" in answer.text
    assert await audited(hub, "server.certified") == []


@pytest.mark.parametrize(
    ("host", "kind"), [("localhost", CertifiedMessage), ("nowhere.invalid", FaultMessage)]
)
async def test_a_name_for_browsers_has_to_lead_to_the_server_too(
    host: str, kind: type[Message], hub: Hub, server: Server
) -> None:
    server.ws = f"wss://{host}:9/rpc"
    await server.report()
    answer = await asked(hub, server.identity, request("127.0.0.1", host))
    assert isinstance(answer, kind)


@pytest.mark.parametrize("who", ["stranger", "router"])
async def test_those_that_are_no_servers_get_none(who: str, hub: Hub, server: Server) -> None:
    answer = await asked(hub, identity(who), request("127.0.0.1"))
    assert isinstance(answer, FaultMessage)
    assert answer.code == FaultCode.BUSY
    assert "servers that have enrolled" in answer.text


async def test_a_server_whose_short_id_is_that_of_another_gets_nothing(
    hub: Hub, server: Server
) -> None:
    """Ids have six bytes, so that another hashname with the same can be searched for."""
    mallory = identity("mallory")
    (entry,) = await hub.hot.entries([server_id(server.identity.hashname)])
    assert entry is not None
    alike = copied(entry)
    alike.sender, alike.version = server_id(mallory.hashname), 0
    await hub.hot.put([alike])
    answer = await asked(hub, mallory, request("127.0.0.1"))
    assert isinstance(answer, FaultMessage)
    assert await audited(hub, "server.certified") == []


async def test_what_is_no_request_is_refused(hub: Hub, server: Server) -> None:
    for data in (b"junk", request("127.0.0.1").request[:-4]):
        answer = await asked(hub, server.identity, CertifyMessage(data))
        assert isinstance(answer, FaultMessage)
        assert answer.code == FaultCode.PROTOCOL


async def test_one_server_may_ask_now_and_then(hub: Hub, server: Server) -> None:
    assert isinstance(await asked(hub, server.identity, request("127.0.0.1")), CertifiedMessage)
    answer = await asked(hub, server.identity, request("127.0.0.1"))
    assert isinstance(answer, FaultMessage)
    assert answer.code == FaultCode.BUSY
    assert f"once in {EACH_S:g} s" in answer.text


async def test_a_hub_without_an_authority_says_so(settings: HubSettings, start: Start) -> None:
    plain = await start(settings)
    answer = await asked(plain, identity("server"), request("127.0.0.1"))
    assert isinstance(answer, FaultMessage)
    assert answer.code == FaultCode.DENIED
    assert "--tls auto" in answer.text


@pytest.fixture
async def shared(tmp_path: Path) -> AsyncIterator[Settings]:
    database = await Database.open(f"sqlite:///{tmp_path / 'hub.sqlite'}")
    await database.migrate()
    yield Settings(database)
    await database.close()


async def test_hubs_of_one_database_have_one_authority(shared: Settings, tmp_path: Path) -> None:
    """Also those that start at the same moment; each has a copy that others cannot read."""
    folders = [tmp_path / name for name in ("one", "two", "three")]
    for folder in folders:
        folder.mkdir()
    now = time.time()
    first, second = await asyncio.gather(
        *(hub_authority(each, shared, "fleet", now) for each in folders[:2])
    )
    third = await hub_authority(folders[2], shared, "fleet", now)
    assert first.fingerprint == second.fingerprint == third.fingerprint
    again = await hub_authority(folders[0], shared, "fleet", now + 86_400)
    assert again.fingerprint == first.fingerprint
    for folder in folders:
        assert (folder / key_files.AUTHORITY_FILE_NAME).stat().st_mode & 0o777 == 0o600


async def test_an_authority_that_others_can_read_damaged_or_foreign_is_refused(
    shared: Settings, tmp_path: Path
) -> None:
    now, file = time.time(), tmp_path / key_files.AUTHORITY_FILE_NAME
    await hub_authority(tmp_path, shared, "fleet", now)
    good = file.read_bytes()
    file.chmod(0o644)
    with pytest.raises(UsageError, match="chmod 600"):
        await hub_authority(tmp_path, shared, "fleet", now)
    file.chmod(0o600)
    file.write_bytes(good[:200])
    with pytest.raises(UsageError, match="damaged"):
        await hub_authority(tmp_path, shared, "fleet", now)
    file.write_bytes(CertificateAuthority.make("other", now).serialize())
    with pytest.raises(UsageError, match="another authority"):
        await hub_authority(tmp_path, shared, "fleet", now)
    file.write_bytes(good)
    with pytest.raises(UsageError, match="expired"):
        await hub_authority(tmp_path, shared, "fleet", now + 11 * 365 * 86_400)
