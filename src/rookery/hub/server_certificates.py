"""Certificates for servers: signed by the hub's authority, for addresses that lead to that server.

    server ─ CERTIFY: request ─▶ hub      by TCP, sealed: the hub knows which server it is
    hub ─ connects to each name ─▶ server   and that server has to answer there
    server ◀─ CERTIFIED: chain ─ hub

A name must be in the server's own report, and the server with this very key must answer under it:
a server that reports the address of another gets no certificate for it.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable

from cryptography.hazmat.primitives.serialization import Encoding

from rookery.errors import CongestionError, DeniedError, RookeryError
from rookery.fleet.entry import FleetEntry, server_id
from rookery.hub.clock import HubClock
from rookery.hub.rendezvous.server_list import check_sealing, load_report
from rookery.identity.cipher_sets import RSA_CSID
from rookery.identity.cs40 import CSID as ROOKERY_CSID
from rookery.identity.identity import Identity
from rookery.runtime.fleet.sealed_connection import SealedConnection, SealedConnectionLimits
from rookery.runtime.net.address import parse_address
from rookery.runtime.tls.authority import CertificateAuthority
from rookery.runtime.tls.certificate import DAY_S, SigningRequest
from rookery.runtime.tls.names import announced_names
from rookery.store.hot.hot_store import HotStore
from rookery.wire.fleet.messages import CertifiedMessage, CertifyMessage
from rookery.wire.fleet.telemetry import LoadReport

CERTIFICATE_LIFETIME_S = 7 * DAY_S  # short: a server that is forgotten keeps what it has until then
EACH_S = 5.0  # between two requests of one server
AT_ONCE_MAX = 4
DIAL_S = 5.0

_REMEMBERED_MAX = 1024
_LIMITS = SealedConnectionLimits(received_bytes_max=1 << 16, unsent_bytes_max=1 << 16)

CertificateRefused = Callable[[FleetEntry, str, str], None]  # from which address, and why
CertificateIssued = Callable[[FleetEntry, frozenset[str]], None]


class ServerCertificates:
    """`certify` answers a server's request."""

    def __init__(
        self,
        authority: CertificateAuthority | None,
        identity: Identity,
        hot: HotStore,
        clock: HubClock,
        issued: CertificateIssued,
        refused: CertificateRefused,
    ) -> None:
        self._authority = authority
        self._identity = identity
        self._hot = hot
        self._clock = clock
        self._issued = issued
        self._on_refused = refused
        self._loop = asyncio.get_running_loop()
        self._requested_at: OrderedDict[str, float] = OrderedDict()
        self._in_progress = 0

    async def certify(
        self, connection: SealedConnection, message: CertifyMessage
    ) -> CertifiedMessage:
        """DeniedError, DecodeError or CongestionError say why there is no certificate."""
        if self._authority is None:
            raise DeniedError("this hub has no certificate authority; start it with --tls auto")
        entry, report = await self._server(connection)
        request = SigningRequest.parse(message.request)
        if foreign := request.names - announced_names(report.tcp, report.ws):
            raise self._refusal(connection, entry, f"it does not announce {_list(foreign)}")
        self._pace(entry.hashname)
        self._in_progress += 1
        try:
            for name in sorted(request.names):
                await self._check(connection, entry, report, name)
        finally:
            self._in_progress -= 1
        own = self._authority.issue(
            request.key,
            request.names,
            self._clock.now(),
            server=entry.hashname,
            lifetime_s=CERTIFICATE_LIFETIME_S,
        )
        self._issued(entry, request.names)
        chain = (own, self._authority.certificate)
        return CertifiedMessage(tuple(each.public_bytes(Encoding.DER) for each in chain))

    async def _server(self, connection: SealedConnection) -> tuple[FleetEntry, LoadReport]:
        """The entry and last report of the server; CongestionError while there is none."""
        assert connection.peer is not None
        (entry,) = await self._hot.entries([server_id(connection.peer)])
        if entry is None or entry.kind != "server" or entry.hashname != connection.peer:
            raise CongestionError("certificates are for servers that have enrolled here")
        check_sealing(entry, connection.csid)
        report = load_report(entry)
        if report is None:
            raise CongestionError("your first report has not come yet; ask again")
        return entry, report

    async def _check(
        self, connection: SealedConnection, entry: FleetEntry, report: LoadReport, name: str
    ) -> None:
        """DeniedError unless that server answers under this name."""
        _, port = parse_address(report.tcp)
        try:
            proof = await SealedConnection.dial(
                self._identity,
                entry.hashname,
                {ROOKERY_CSID: entry.key}
                if report.stream >= ROOKERY_CSID
                else {RSA_CSID: report.key2a},
                name,
                port,
                timeout_s=DIAL_S,
                limits=_LIMITS,
            )
        except (RookeryError, ValueError) as error:
            reason = f"it does not answer at {name}, port {port}: {error}"
            raise self._refusal(connection, entry, reason) from error
        proof.close()

    def _pace(self, server: str) -> None:
        now = self._loop.time()
        if now < self._requested_at.get(server, float("-inf")) + EACH_S:
            raise CongestionError(f"ask once in {EACH_S:g} s")
        if self._in_progress >= AT_ONCE_MAX:
            raise CongestionError("too many servers ask at once; ask again")
        self._requested_at[server] = now
        self._requested_at.move_to_end(server)
        if len(self._requested_at) > _REMEMBERED_MAX:
            self._requested_at.popitem(last=False)

    def _refusal(self, connection: SealedConnection, entry: FleetEntry, why: str) -> DeniedError:
        address = f"{connection.address[0]}:{connection.address[1]}"
        self._on_refused(entry, address, why)
        return DeniedError(f"no certificate: {why}")


def _list(names: frozenset[str]) -> str:
    return ", ".join(sorted(names)[:4])
