"""Joining a realm over real links: the server that redeems invitations, and its client."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from rookery.errors import (
    ChannelError,
    DeniedError,
    ProtocolError,
    RemoteError,
    UnreachableError,
    UsageError,
)
from rookery.identity.identity import Identity
from rookery.link.token_bucket import TokenBucket
from rookery.mesh.membership.invitation import Invitation
from rookery.mesh.membership.issued_invitations import InvitationRedemption, RedemptionAttempts
from rookery.mesh.membership.join import TYPE, JoinAnswer, JoinRequest
from rookery.runtime.endpoint.endpoint import AsyncEndpoint
from rookery.runtime.realm.authority import RealmAuthority
from rookery.runtime.realm.store import RealmStore
from rookery.wire.link.lob import JsonObject
from rookery.wire.link.uri import LinkAddress
from rookery.wire.mesh.certificate import CSID_40
from rookery.wire.mesh.statement import STATEMENT_SIZE_MAX

if TYPE_CHECKING:
    from rookery.runtime.endpoint.channels.interface import ChannelInterface, ChannelOpener

ANSWER_S = 30.0
GOODBYE_S = 5.0

NO_REQUEST = "not a request to join"
TROUBLE = "the inviter cannot answer now, try again later"

LINES_PER_S = 0.1
LINES_BURST = 5.0

_log = logging.getLogger(__name__)


class JoinAccepted(msgspec.Struct, frozen=True):
    """A member joined."""

    hashname: str
    name: str
    invitation: str  # its id
    certificate: bytes


class JoinRefused(msgspec.Struct, frozen=True):
    """An attempt to join was refused."""

    hashname: str
    reason: str  # as sent to it
    trouble: str = ""  # a local problem, which is not sent


OnJoin = Callable[[JoinAccepted | JoinRefused], object]


class JoinLog:
    """Logs each refused attempt; when there are very many, a count."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._pace = TokenBucket(LINES_PER_S, LINES_BURST, now())
        self._unsaid = 0

    def __call__(self, what: JoinAccepted | JoinRefused) -> None:
        if isinstance(what, JoinAccepted):
            return
        if not self._pace.take(1.0, self._now()):
            self._unsaid += 1
            return
        more = f"; {self._unsaid} more since the last line" if self._unsaid else ""
        trouble = f" ({what.trouble})" if what.trouble else ""
        _log.warning("join of %s refused: %s%s%s", what.hashname[:8], what.reason, trouble, more)
        self._unsaid = 0


class JoinServer:
    """Answers `join` channels; `refused` counts refused attempts by reason."""

    def __init__(
        self,
        authority: RealmAuthority,
        link: Callable[[], LinkAddress],
        on_join: OnJoin | None = None,
    ) -> None:
        self.refused: Counter[str] = Counter()
        self._authority = authority
        self._store = authority.store
        self._link = link
        self._on_join = on_join
        self._attempts = RedemptionAttempts(time.monotonic())
        self._turn = asyncio.Lock()  # one at a time: each changes the folder

    def is_open(self) -> bool:
        """True if an invitation is open now; reads the folder."""
        return self._store.invitations().is_any_open(time.time())

    async def handle(self, channel: "ChannelInterface") -> None:
        hashname = channel.link.hashname
        try:
            self._attempts.begin(hashname, time.monotonic())
            request = JoinRequest.parse(*channel.opening)
            request.check(self._store.realm, hashname)
            async with self._turn:
                redeemed = await asyncio.to_thread(self._redeem, request, hashname)
        except RemoteError as error:
            self._refuse(hashname, str(error) if isinstance(error, ProtocolError) else NO_REQUEST)
            raise
        except UsageError as error:
            # A local problem, such as a full disk, is logged but not sent to the peer.
            self._refuse(hashname, TROUBLE, str(error))
            raise ProtocolError(TROUBLE) from error
        answer = JoinAnswer(redeemed.certificate, self._link())
        try:
            await _send(channel, answer)
            await _received(channel)
        finally:
            self._tell(redeemed)  # it is a member from now on, even if the answer is lost

    def _redeem(self, request: JoinRequest, hashname: str) -> JoinAccepted:
        """Redeem before answering; a peer whose answer was lost can request it again."""
        now_s = time.time()
        revocation = self._store.membership(now_s).revoked.get(hashname)
        revoked_s = None if revocation is None else revocation.at_s
        with self._store.changing_invitations() as invitations:
            invited = invitations.find(request.secret, hashname, now_s, revoked_s)
            name = invited.name or request.name
            spent = invited.spent
            if spent is None:
                certificate = self._authority.certify(
                    request.key,
                    request.intermediates,
                    hashname=hashname,
                    name=name,
                    roles=invited.roles,
                    member_s=invited.member_s,
                )
                spent = InvitationRedemption(hashname, int(time.time()), certificate)
                invitations.spend(invited, spent)
        self._store.add_statements([spent.certificate])
        return JoinAccepted(hashname, name, invited.id, spent.certificate)

    def _refuse(self, hashname: str, reason: str, trouble: str = "") -> None:
        self.refused[reason] += 1
        self._tell(JoinRefused(hashname, reason, trouble))

    def _tell(self, what: JoinAccepted | JoinRefused) -> None:
        if self._on_join is not None:
            self._on_join(what)


def serve_joins(
    endpoint: AsyncEndpoint, store: RealmStore, on_join: OnJoin | None = None
) -> JoinServer | None:
    """Redeem the folder's invitations over this endpoint; None if nothing signs for the realm."""
    if store.authority(endpoint.identity) is None:
        return None
    server = JoinServer(
        RealmAuthority(store, endpoint.identity), lambda: endpoint.address.elsewhere(), on_join
    )
    endpoint.serve(TYPE, server.handle)
    return server


async def join(
    endpoint: AsyncEndpoint, invitation: Invitation, name: str, timeout_s: float
) -> JoinAnswer:
    """Redeem an invitation; DeniedError: refused, UnreachableError: no answer."""
    if time.time() >= invitation.expires_s:
        raise DeniedError("the invitation has expired; ask for another, or set the clock right")
    hashname = invitation.hashname
    # The URL has only digests of the other keys, which a link address cannot express.
    endpoint.core.link(hashname, {CSID_40: invitation.key}, invitation.paths, endpoint.now())
    link = await endpoint.link(hashname).up(timeout_s)
    answer = await redeem(link, invitation, endpoint.identity, name)
    answer.check(invitation.realm, endpoint.hashname, time.time())
    return answer


async def redeem(
    link: "ChannelOpener", invitation: Invitation, identity: Identity, name: str
) -> JoinAnswer:
    """Redeem it over a link to the inviter."""
    request = JoinRequest.of(invitation.realm, invitation.secret, name, identity)
    channel = link.open(TYPE, request.head(), request.body())
    try:
        async with asyncio.timeout(ANSWER_S):
            return await _receive(channel)
    except TimeoutError as error:
        channel.fail("timeout")
        raise UnreachableError("the inviter does not answer") from error
    except ChannelError as error:
        if str(error) == "unknown type":
            raise DeniedError("the inviter takes nobody into a realm any more") from error
        raise DeniedError(f"the inviter refused: {error}") from error


async def _send(channel: "ChannelInterface", answer: JoinAnswer) -> None:
    head: JsonObject = answer.head()
    data = answer.certificate
    for at in range(0, len(data), channel.fragment_size):
        await channel.send(head, data[at : at + channel.fragment_size])
        head = {}
    await channel.end()


async def _received(channel: "ChannelInterface") -> None:
    """Wait until the peer has received everything, or is gone."""
    with suppress(TimeoutError, ChannelError):
        async with asyncio.timeout(GOODBYE_S):
            while await channel.receive() is not None:
                pass


async def _receive(channel: "ChannelInterface") -> JoinAnswer:
    head: JsonObject = {}
    data = b""
    while (message := await channel.receive()) is not None:
        head = head or message[0]
        data += message[1]
        if len(data) > STATEMENT_SIZE_MAX:
            channel.fail("too long")
            raise ProtocolError("the inviter answers without end")
    await channel.end()
    return JoinAnswer.parse(head, data)
