"""A link: the encrypted session with one other endpoint, over all the paths that lead there.

    unresolved ──keys and a path──▶ down ──handshake received and sent──▶ up
                                     ▲                                    │
                                     └──── a round unanswered for 30 s ◀──┘

The first round of handshakes makes the link, one every 25 s or so keeps all its paths alive and
measured, and one follows at once when traffic stalls or the peer speaks from a new address.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final

from rookery.errors import CongestionError, ProtocolError, UnreachableError
from rookery.identity.cipher_set import OpenedMessage
from rookery.link.channel import Channel
from rookery.link.events import HangUp, LinkDown, LinkUp, PathLost
from rookery.link.link_owner import LinkOwner
from rookery.link.paths import Paths, PathState
from rookery.link.session.exchange import Exchange, HandshakeVerdict
from rookery.link.session.handshake import Handshake
from rookery.link.session.key_agreement import KeyAgreement
from rookery.link.traffic import Traffic
from rookery.wire.link.lob import JsonObject
from rookery.wire.link.path import Arrival, Path
from rookery.wire.octets import Octets, Parts

FRAGMENT_SIZE_DATAGRAM: Final = 1200
FRAGMENT_SIZE_STREAM: Final = 60 << 10  # fits a datagram still, should the stream be lost
ROOKERY_CSID: Final = 0x40
COPIED_SPREAD_S: Final = 5.0  # within which all links renew their keys after a leap
QUIET_S: Final = 2.0  # a path that brings nothing for so long, while others do, is in doubt


class LinkState(Enum):
    """As the specification names them."""

    UNRESOLVED = "unresolved"
    DOWN = "down"
    UP = "up"


class Link:
    """One peer, as seen from here."""

    __slots__ = (
        "_agreement",
        "_is_up",
        "_owner",
        "_traffic",
        "channel_packets",
        "hashname",
        "in_bytes",
        "is_router",
        "keys",
        "last_error",
        "observed",
        "out_bytes",
        "paths",
        "persistent",
    )

    def __init__(
        self, owner: LinkOwner, hashname: str, keys: Mapping[int, bytes], *, persistent: bool
    ) -> None:
        self._owner = owner
        self.hashname = hashname
        self.keys = dict(keys)
        self.paths = Paths(self._path_forgotten, self._path_failed)
        self.persistent = persistent  # requested by the user: dialled again after every loss
        self.is_router = False
        self.observed: Path | None = None  # our own address, as the peer sees it
        self.last_error: str | None = None
        self.channel_packets = 0  # in and out
        self.in_bytes = self.out_bytes = 0  # sealed, since the link is known
        self._traffic: Traffic | None = None
        self._agreement = KeyAgreement(self, owner)
        self._is_up = False

    # --- what it is ---

    @property
    def state(self) -> LinkState:
        if self._is_up:
            return LinkState.UP
        if self.exchange is None or not len(self.paths):
            return LinkState.UNRESOLVED
        return LinkState.DOWN

    @property
    def exchange(self) -> Exchange | None:
        return self._agreement.exchange

    @property
    def csid(self) -> int | None:
        """The cipher set of the exchange: the highest that both sides have."""
        return max(self.keys.keys() & self._owner.identity.keys.keys(), default=None)

    @property
    def fragment_size(self) -> int:
        """How many body bytes fit one packet on the path in use."""
        best, exchange = self.paths.best_state, self.exchange
        if best is not None and best.is_stream and exchange is not None:
            return FRAGMENT_SIZE_STREAM if exchange.csid == ROOKERY_CSID else FRAGMENT_SIZE_DATAGRAM
        return FRAGMENT_SIZE_DATAGRAM

    @property
    def is_lax(self) -> bool:
        """True for implementations other than ours, whose acknowledgements differ."""
        return self.csid != ROOKERY_CSID

    @property
    def rtt(self) -> float | None:
        """The round trip of the path in use, where it is known."""
        best = self.paths.best_state
        return best.rtt if best is not None else None

    # --- requests of the endpoint and its user ---

    def dial(self, now: float) -> None:
        """Begin to make the link, unless it is up or being made under the best cipher set."""
        csid = self.exchange.csid if self.exchange is not None else None
        if self._is_up or (self._agreement.rounds.is_running and csid == self.csid):
            return
        self._owner.touch(self)
        self._agreement.ensure_exchange(now)
        if self.exchange is not None and len(self.paths):
            self._agreement.begin_round(now)
        else:
            self._owner.unresolved(self)
            self._fall("nobody knows where it is", now)

    def add_path(self, path: Path, now: float, *, configured: bool) -> None:
        """A place where the peer listens: tried at once if a round is under way or the link up."""
        state = self._try(path, now, configured=configured)
        if state is not None:
            state.dialled = True

    def learn(self, keys: Mapping[int, bytes], path: Path, now: float) -> None:
        """An introduction: keys that make up the hashname, and the router that brought them."""
        for csid, key in keys.items():
            self.keys.setdefault(csid, key)
        self.add_path(path, now, configured=False)
        if self._is_up:
            self._agreement.rounds.hasten(now)  # a peer that asks by name has lost its session
            self._owner.touch(self)
        self.dial(now)

    def open(
        self, channel_type: str, head: JsonObject, body: bytes, *, reliable: bool, now: float
    ) -> Channel:
        """Open a channel; UnreachableError unless the link is up."""
        if not self._is_up or self._traffic is None:
            raise UnreachableError(f"the link to {self.hashname[:8]} is {self.state.value}")
        return self._traffic.open(channel_type, head, body, reliable=reliable, now=now)

    def say(self, channel_type: str, head: JsonObject, body: bytes = b"") -> None:
        """One packet that opens a channel without a second packet (`path`, `peer`, `connect`)."""
        if self._is_up and self._traffic is not None:
            self._traffic.say(channel_type, head, body)

    def transmit_over(self, path: Path, head: JsonObject) -> None:
        """A packet that must take this very path."""
        if self._traffic is not None:
            self._traffic.transmit_over(path, head)

    def send_frame(self, head: bytes, body: Octets, path: Path | None = None) -> None:
        """A frame for the peer itself, over this very path or the best direct one."""
        self.send_parts(head, (body,), path)

    def send_parts(self, head: bytes, parts: Parts, path: Path | None = None) -> None:
        """A frame whose body is not in one piece yet."""
        if self._is_up and self._traffic is not None:
            self._traffic.send_frame(head, parts, path)

    def sealed_frame(self, head: bytes, body: bytes) -> Octets | None:
        """A frame for the peer as a packet that another node will carry; None while down."""
        return self.sealed_parts(head, (body,))

    def sealed_parts(self, head: bytes, parts: Parts) -> Octets | None:
        if not self._is_up or self._traffic is None:
            return None
        return self._traffic.sealed(head, parts)

    def monitor(self, path: Path, now: float) -> None:
        """Add a path that no handshake goes over: the caller proves and distrusts it."""
        state = self.paths.add(path, configured=False)
        if state is not None:
            state.monitored, state.received_s = True, now

    def unmonitor(self, path: Path) -> None:
        self.paths.discard(path)

    def prove(self, path: Path, rtt_s: float) -> None:
        """The monitor of this path has seen it work."""
        self.paths.prove(path, rtt_s)

    def distrust(self, path: Path) -> None:
        """Send no traffic here until the monitor proves the path again."""
        self.paths.distrust(path)

    def hang_up(self, path: Path) -> None:
        """A connection that passes nothing any more: a new one may."""
        self.paths.distrust(path)
        self._owner.emit(HangUp(path))

    def measured(self, path: Path, rtt_s: float) -> None:
        """Add a measurement of the path's monitor."""
        self.paths.measure(path, rtt_s)

    def touch(self, channel: Channel) -> None:
        """The application used a channel: something may be due."""
        if self._traffic is not None:
            self._traffic.touch(channel)

    def doubt_paths(self, now: float) -> None:
        """Repetitions go unanswered: find out which paths still work."""
        self._agreement.rounds.hasten(now)
        self._owner.touch(self)

    def leap(self, now: float) -> None:
        """This process may be a copy of one that goes on: seal nothing under the same nonce."""
        if self._traffic is None:
            return
        try:
            self._traffic.leap(now + COPIED_SPREAD_S * self._agreement.jitter())
        except CongestionError as error:
            self._fall(str(error), now)
        self._owner.touch(self)

    def close(self, now: float) -> None:
        """End the session; the peer hears of it through its channels."""
        if self._traffic is not None:
            self._traffic.fail("link closed")
        self.persistent = False
        self._fall("closed", now)

    # --- what arrives ---

    def handshake_received(
        self, opened: OpenedMessage, handshake: Handshake, path: Path, now: float
    ) -> None:
        """Apply a handshake that decrypted and names this link's hashname."""
        self.keys.setdefault(handshake.csid, handshake.key)
        self._agreement.ensure_exchange(now)
        exchange = self.exchange
        if exchange is None or handshake.csid != exchange.csid:
            raise ProtocolError("handshake under a lesser cipher set than we share")
        before, token = exchange.peer_token, exchange.token
        verdict = exchange.receive(opened, handshake)
        if exchange.token != token:
            self._owner.token_changed(self, token)
        if verdict is HandshakeVerdict.STALE:
            self._agreement.answer_stale(exchange, opened, path, now)
            return
        if exchange.peer_token != before:
            if before is not None:
                self.paths.silence()  # they led to the peer as it was before it restarted
            self._begin_session(exchange, now)
        assert handshake.at is not None
        self._agreement.received(exchange, handshake.at, verdict, path, now)
        if not self._is_up:
            self._rise(now)

    def packet_received(
        self, body: Octets, path: Path, now: float, arrival: Arrival | None = None
    ) -> None:
        """Open a channel packet and hand it on."""
        exchange, traffic = self.exchange, self._traffic
        if exchange is None or traffic is None:
            raise ProtocolError("channel packet before the handshake")
        self.in_bytes += len(body)
        traffic.received(body, path, now, arrival)
        state, best = self.paths.state(path), self.paths.best_state
        if state is None:
            self._moved(exchange, path, now)
            return
        state.received_s = now
        if best is not None and now - best.received_s > QUIET_S:
            self._agreement.rounds.hasten(
                now
            )  # the peer prefers another path: does ours still work?

    def path_lost(self, path: Path, now: float) -> None:
        """A connection ended, or could not be made."""
        state = self.paths.state(path)
        was_proven = state is not None and state.proven
        self.paths.lose(path)
        self._owner.emit(PathLost(self, path))
        # Datagram paths that accompany a connection end with it.
        if self._is_up and (self.paths.is_orphaned if was_proven else self.paths.best is None):
            self._fall("the last path is gone", now)
        elif not self._is_up and self._agreement.rounds.is_running and not self.paths.unanswered():
            self._fall("no path could be opened", now)

    # --- time ---

    @property
    def deadline(self) -> float | None:
        """When `tick` has something to do."""
        rounds = self._agreement.rounds.deadline
        traffic = self._traffic.deadline if self._traffic is not None else None
        if rounds is None or traffic is None:
            return traffic if rounds is None else rounds
        return min(rounds, traffic)

    def tick(self, now: float) -> None:
        """Repeat, give up, keep alive or dial again, whatever is due."""
        if not self._agreement.goes_on(now):
            self._fall("no answer", now)
        if self._traffic is not None:
            self._traffic.expire(now)
            if not self._traffic.renews(now):
                self._fall("the keys could not be renewed", now)
        if self._is_up and self._agreement.rounds.is_keepalive_due(now):
            self._agreement.begin_round(now)
        if self._agreement.rounds.is_redial_due(now):
            self.dial(now)

    def flush(self, now: float) -> None:
        """Send what the channels have due."""
        if self._traffic is not None:
            self._traffic.flush(now)

    # --- inside ---

    def _try(self, path: Path, now: float, *, configured: bool) -> PathState | None:
        """The state of a path that is new and therefore tried; else None."""
        if not self._owner.takes_handshakes(path):
            return None
        is_new = path not in self.paths
        state = self.paths.add(path, configured=configured)
        if state is None or not is_new:
            return None
        self._owner.touch(self)
        if self._agreement.rounds.is_running and self.exchange is not None:
            state.sent_s = now
            self._agreement.send([path])
        else:
            self._agreement.rounds.hasten(now)
        return state

    def _moved(self, exchange: Exchange, path: Path, now: float) -> None:
        """The peer speaks from a new address: try it, when the packet cannot be a replay."""
        # It may be a connection that the peer dialled, whose handshake was stale or came too late:
        # there is no listener at its source port, so no datagrams can be offered there.
        if exchange.session is not None and exchange.session.replay_proof:
            self._try(path, now, configured=False)

    def _path_forgotten(self, path: Path) -> None:
        self._owner.path_forgotten(self, path)

    def _path_failed(self, path: Path) -> None:
        if self._traffic is not None:
            self._traffic.path_failed(path)
            self._owner.touch(self)

    def _begin_session(self, exchange: Exchange, now: float) -> None:
        if self._traffic is not None:
            self._traffic.abandon("the peer restarted")
        if self._is_up:
            self._is_up = False
            self._owner.emit(LinkDown(self, "the peer restarted"))
        self._traffic = Traffic(self, self._owner, exchange, now)

    def _rise(self, now: float) -> None:
        self._is_up = True
        self.last_error = None
        self._agreement.rounds.up()
        if not self._agreement.rounds.is_running:
            self._agreement.rounds.begin(now, self._agreement.jitter())
            self._agreement.rounds.end()
        self._owner.emit(LinkUp(self))
        self._owner.link_rose(self, now)

    def _fall(self, reason: str, now: float) -> None:
        was_up, self._is_up = self._is_up, False
        self.last_error = reason
        if self._traffic is not None:
            self._traffic.abandon(f"link down: {reason}")
            self._traffic = None
        self.paths.silence()
        self._agreement.rounds.down(now, self._agreement.jitter(), redial=self.persistent)
        exchange = self.exchange
        if self.persistent and exchange is not None and exchange.session is not None:
            # Its ephemeral is spent: with a new one the peer, too, begins anew.
            self._agreement.renew_exchange(exchange.csid, now)
        if was_up:
            self._owner.emit(LinkDown(self, reason))
        self._owner.link_fell(self, now)
