"""The server: composition root. Listeners in front, sessions behind, reports to the hub.

hub, devices, clients ─ TCP ─▶ ServerListener ─┐
browsers ─ WebSocket ────────▶ WebListener ────┼─▶ SeatSessions ─ audits ─▶ ServerReports ─▶ hub
                                               └─▶ Seats, relays
"""

import asyncio
import os
import time
from collections.abc import Mapping
from typing import Self

import psutil

from rookery.errors import UsageError
from rookery.fleet.rendezvous.seats import Seats
from rookery.fleet.rpc.relay import RelayedCall
from rookery.identity.cipher_sets import RSA_CSID
from rookery.identity.cs40 import CSID as ROOKERY_CSID
from rookery.identity.identity import Identity
from rookery.runtime.fleet.admission import ConnectionAdmission
from rookery.runtime.fleet.hub_address import HubAddress
from rookery.runtime.net.address import advertised_ip, parse_address
from rookery.runtime.tls.names import announced_names
from rookery.server.lease_client import LeaseClient
from rookery.server.metrics import StatusPages
from rookery.server.reports import ServerReports
from rookery.server.seat_sessions import EndedSession, SeatSessions
from rookery.server.server_tls import FilesTls, HubSignedTls, ServerTls
from rookery.server.settings import ServerSettings
from rookery.server.tcp_listener import ServerListener
from rookery.server.web_connection import RESOURCE
from rookery.server.web_listener import WebListener
from rookery.wire.fleet.telemetry import LoadReport


class Server:
    """Make it with `start`; `close` drains it."""

    def __init__(self, settings: ServerSettings, identity: Identity, hub: HubAddress) -> None:
        self._settings = settings
        self._identity = identity
        self._admission = ConnectionAdmission(settings.listener, asyncio.get_running_loop().time())
        seats = Seats(
            identity.hashname,
            settings.seats_max,
            os.urandom,
            settings.linger_s,
            settings.lease_s,
        )
        self._sessions = SeatSessions(
            seats, self._audited, self._ended, settings.relay, settings.listener.slow_s
        )
        self._listener = ServerListener(
            identity, hub.hashname, self._sessions, self._admission, settings.listener, hub.insisted
        )
        self._web: WebListener | None = None
        self._tls: ServerTls | None = None
        self._certifying: asyncio.Task[None] | None = None
        self._reports: ServerReports | None = None
        self._leases = LeaseClient(identity, hub, self._sessions, settings.leases)
        self._renewing: asyncio.Task[None] | None = None
        self._hub = hub
        self.port = 0
        self.tcp = ""  # its advertised address
        self.http: str | None = None
        self.ws = ""

    @classmethod
    async def start(cls, settings: ServerSettings, identity: Identity, hub: HubAddress) -> Self:
        """Listen and report; UsageError where settings or keys will not do."""
        missing = {ROOKERY_CSID, RSA_CSID} - identity.keys.keys()
        if missing:
            raise UsageError("a server needs keys of the cipher sets 40 and 2a")
        server = cls(settings, identity, hub)
        try:
            await server._listen()
            server._reports = await ServerReports.open(
                identity,
                hub,
                settings.folder,
                settings.code or None,
                server.load,
                settings.report_s,
            )
            loop = asyncio.get_running_loop()
            server._renewing = loop.create_task(server._leases.run())
            if server._tls is not None:
                server._certifying = loop.create_task(server._tls.run())
        except BaseException:
            await server.close()
            raise
        return server

    @property
    def hashname(self) -> str:
        return self._identity.hashname

    @property
    def problems(self) -> list[str]:
        """Why no device can be sent here now."""
        problems = []
        if self._sessions.is_draining:
            problems.append("it is about to stop")
        if self._reports is None or not self._reports.is_enrolled:
            problems.append("the hub does not know it yet")
        if self._tls is not None and self._tls.problem:
            problems.append(self._tls.problem)
        return problems

    def load(self) -> LoadReport:
        """How it is, and where."""
        seats = self._sessions.seats
        return LoadReport(
            t=time.time_ns() // 1_000_000,
            seats_max=seats.seats_max,
            seats_used=seats.used,
            cpu=min(psutil.cpu_percent() / 100, 1.0),
            mem=min(psutil.virtual_memory().percent / 100, 1.0),
            tcp=self.tcp,
            ws=self.ws,
            key2a=self._identity.keys[RSA_CSID],
            stream=ROOKERY_CSID,
        )

    async def close(self) -> None:
        """Take no new seats, let open calls finish for a moment, then close all connections."""
        if self._certifying is not None:
            self._certifying.cancel()
            await asyncio.gather(self._certifying, return_exceptions=True)
        await self._sessions.drain(self._settings.drain_s)
        self._sessions.close()
        listeners = [self._listener.close()] + (
            [self._web.close()] if self._web is not None else []
        )
        await asyncio.gather(*listeners)
        if self._renewing is not None:
            self._renewing.cancel()
            await asyncio.gather(self._renewing, return_exceptions=True)
        if self._reports is not None:
            await self._reports.close()

    async def _listen(self) -> None:
        settings = self._settings
        ip, port = await self._listener.listen(*parse_address(settings.tcp))
        self.port = port
        self.tcp = _advertised(settings.advertise, ip, port)
        if settings.http is None:
            return
        pages = StatusPages(self)
        self._web = WebListener(
            self._sessions, self._admission, pages.answer, settings.listener, settings.origins
        )
        tls = self._tls = self._made_tls()
        secure = "" if tls is None else "s"
        context = None if tls is None else tls.context
        ip, port = await self._web.listen(*parse_address(settings.http), context)
        place = _advertised(_host(settings.advertise), ip, port)
        self.http = f"http{secure}://{place}"
        self.ws = settings.advertise_ws or f"ws{secure}://{place}{RESOURCE}"
        if tls is not None:
            tls.announce(announced_names(self.tcp, self.ws))

    def _made_tls(self) -> ServerTls | None:
        settings = self._settings
        match settings.tls:
            case None:
                return None
            case "auto":
                return HubSignedTls(settings.folder, self._identity, self._hub)
            case files:
                return FilesTls(files)

    def _audited(self, seat: str, audit: RelayedCall) -> None:
        if self._reports is not None:
            self._reports.audit(seat, audit)

    def _ended(self, ended: EndedSession) -> None:
        if self._reports is not None:
            self._reports.ended(ended)

    # For its status pages.

    def gauges(self) -> Mapping[str, tuple[str, float]]:
        seats = self._sessions.seats
        return {
            "seats_max": ("Seats there are.", seats.seats_max),
            "seats_used": ("Seats with a device.", seats.used),
            "seats_reserved": ("Seats whose device is on its way.", seats.reserved),
            "open_calls": ("Calls that devices have not answered.", self._sessions.open_calls),
            "connections": ("Of hub, devices and clients.", self._admission.count),
            "waiting_audits": (
                "Audits that are not with the hub.",
                0 if self._reports is None else self._reports.waiting,
            ),
            "leases_renewed": ("1 while a hub renews leases of seats.", self._leases.is_renewed),
            "ready": ("1 when devices can be sent here.", not self.problems),
        }

    def counters(self) -> Mapping[str, tuple[str, str, Mapping[str, int]]]:
        calls = {str(code): count for code, count in self._sessions.calls.items()}
        reports = {} if self._reports is None else dict(self._reports.tally)
        return {
            "calls": ("Calls by outcome; 0 worked.", "code", calls),
            "seats": ("Seats and messages by what became of them.", "fate", self._sessions.tally),
            "refused_connections": ("Guests turned away.", "reason", self._admission.tally),
            "reports": ("Reports to the hub.", "what", reports),
            "leases": ("Answers about leases.", "what", self._leases.tally),
        }


def _advertised(advertise: str, ip: str, port: int) -> str:
    """`IP` or `IP:PORT` in place of what is listened on."""
    host = _host(advertise) or advertised_ip(ip)
    if advertise and advertise != host and advertise != f"[{host}]":
        _, port = parse_address(advertise)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _host(advertise: str) -> str:
    if not advertise:
        return ""
    if advertise.count(":") > 1 and not advertise.startswith("["):
        return advertise  # an IPv6 address alone
    if ":" not in advertise or advertise.endswith("]"):
        return advertise.strip("[]")
    return parse_address(advertise)[0]
