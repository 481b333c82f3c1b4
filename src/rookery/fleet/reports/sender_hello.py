"""Hello of a sender: when it is sent, and what is in it."""

from rookery.fleet.enrolment import secrets
from rookery.fleet.entry import FleetKind
from rookery.fleet.reports.sender_limits import SenderLimits, backoff
from rookery.identity import cs40
from rookery.identity.cipher_set import RandomBytes
from rookery.identity.cipher_sets import RSA_CSID
from rookery.identity.hashname import intermediate
from rookery.identity.identity import Identity
from rookery.wire.fleet.datagrams import HELLO_DATAGRAM_SIZE_MIN, HelloDatagram
from rookery.wire.fleet.tags import HELLO, SERVER_HELLO

_NONCE_SIZE = 8
_ATTEMPTS_AFTER_REFUSAL = 16


class SenderHello:
    """Sends hellos until a secret comes, with backoff until a report is acknowledged.

    The fault UNKNOWN proves nothing and may be forged; to act on it costs one small datagram.
    """

    __slots__ = (
        "_attempts", "_code_key", "_due_at", "_hello", "_is_refused", "_limits", "_random", "_tag"
    )  # fmt: skip

    def __init__(
        self,
        identity: Identity,
        sender: bytes,
        kind: FleetKind,
        code: str | None,
        limits: SenderLimits,
        random: RandomBytes,
    ) -> None:
        digest = intermediate(identity.keys[RSA_CSID])
        self._tag = HELLO if kind == "router" else SERVER_HELLO
        self._code_key = None if code is None else secrets.code_key(code)
        self._limits = limits
        self._random = random
        self._hello = HelloDatagram(sender, bytes(_NONCE_SIZE), identity.keys[cs40.CSID], digest)
        self._due_at: float | None = None  # None: there is no need to
        self._attempts = 0  # since a report was acknowledged
        self._is_refused = False  # the last hello
        self._refresh()

    @property
    def deadline(self) -> float | None:
        return self._due_at

    @property
    def nonce(self) -> bytes | None:
        """Of the hello that waits for an answer."""
        return None if self._due_at is None else self._hello.nonce

    def want(self, now: float) -> None:
        """The hub does not know us, or we have no secret."""
        if self._due_at is None:
            self._refresh()
            self._due_at = now + (self._pause() if self._attempts else 0.0)

    def due(self, now: float) -> bytes | None:
        """The datagram, if it is time for one."""
        if self._due_at is None or now < self._due_at:
            return None
        self._attempts += 1
        self._is_refused = False
        self._due_at = now + self._pause()
        return self._hello.serialize(self._tag, HELLO_DATAGRAM_SIZE_MIN)

    def answered(self) -> None:
        """A secret came."""
        self._due_at = None

    def is_first_refusal(self) -> bool:
        """True for the first refusal of a hello; further ones may be forged."""
        is_first, self._is_refused = not self._is_refused, True
        return is_first

    def refused(self, now: float) -> None:
        """Refused by policy, or another key has the id: retry rarely, as neither changes soon."""
        self._attempts = _ATTEMPTS_AFTER_REFUSAL
        self._due_at = now + self._pause()

    def enrolled(self) -> None:
        """A report was acknowledged, so the hub knows us."""
        self._attempts = 0

    def introduction(self) -> bytes:
        """What goes before a report until the first one is acknowledged."""
        return self._hello.serialize(self._tag)

    def _refresh(self) -> None:
        hello = self._hello._replace(nonce=self._random(_NONCE_SIZE))
        if self._code_key is not None:
            hello = hello._replace(code_id=secrets.code_id(self._code_key))
            hello = hello._replace(code_proof=secrets.prove_code(self._code_key, hello.proved))
        self._hello = hello

    def _pause(self) -> float:
        tries = max(0, self._attempts - 1)
        return backoff(self._limits.hello_s, self._limits.hello_max_s, tries, self._random)
