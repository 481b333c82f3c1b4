"""Record database: every member's newest record, and the statements that others may lack.

    data ─▶ shape, realm ─▶ member? newer? in time? within the rate? ─▶ signature ─▶ held, NEW
                cheap                        cheap                       expensive

An origin's records are ordered by (epoch, sequence) alone (R1). What fails a cheap check costs no
signature, so junk and duplicates cost little; each refusal has a reason that never changes. Nothing
here grows beyond the number of members.

A record cannot claim roles that its origin's certificate does not have: such claims are counted,
and the record is held without them.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from types import MappingProxyType

import msgspec

from rookery.errors import AuthenticationError, DecodeError, ProtocolError
from rookery.identity import signing
from rookery.identity.realm import CLOCK_SKEW_S
from rookery.identity.signing import Verify
from rookery.link.timers import Timers
from rookery.link.token_bucket import TokenBucket
from rookery.mesh.membership.membership import Member, Membership
from rookery.mesh.records.inventory import Inventory
from rookery.wire.mesh.certificate import role_bits, roles_of
from rookery.wire.mesh.flood import StatementKey, SummaryEntry, key_of
from rookery.wire.mesh.node_id import NodeId
from rookery.wire.mesh.record import Record, Version, version_of
from rookery.wire.mesh.statement import (
    KINDS,
    REALM_ID_SIZE,
    RECORD,
    SIGNATURE_SIZE,
    STATEMENT_SIZE_MAX,
    VERSION,
    Statement,
)

RECORDS_PER_S = 2.0  # of one origin; an honest one makes half as many
RECORDS_BURST = 10.0

_CONTENT_AT = 2 + REALM_ID_SIZE
_STATEMENT_SIZE_MIN = _CONTENT_AT + SIGNATURE_SIZE
_RECONCILE_S = 1.0
_NEVER: Version = (-1, -1)


class RecordVerdict(Enum):
    NEW = "new"  # pass it on
    KNOWN = "known"
    STALE = "stale"  # we hold, or have held, a newer one
    OWN = "own"  # ours, and newer than any we remember: see `RecordDatabase.outdone`


class _HeldRecord(msgspec.Struct, frozen=True):
    record: Record
    data: bytes
    expires_at: float


class _OriginState:
    """What is remembered of a member's records even while we hold none."""

    __slots__ = ("contradicted", "contradictions", "floor", "pace", "pretences")

    def __init__(self, now: float) -> None:
        self.floor = _NEVER  # the newest version seen, so that older ones cannot come back
        self.pace = TokenBucket(RECORDS_PER_S, RECORDS_BURST, now)
        self.contradicted = _NEVER
        self.contradictions = 0
        self.pretences = 0  # records with roles that its certificate has not


class RecordDatabase:
    """`records` are those of members, ourselves included, by node."""

    def __init__(self, membership: Membership, *, verify: Verify = signing.verify) -> None:
        self.membership = membership
        self._verify = verify
        self._realm = membership.realm.id
        self._held: dict[NodeId, _HeldRecord] = {}
        self._records: dict[NodeId, Record] = {}
        self._origins: dict[NodeId, _OriginState] = {}
        self._others: dict[bytes, bytes] = {}  # certificates and revocations by key
        self._inventory = Inventory()
        self._reconciled_at = float("-inf")
        self._changed: set[NodeId] = set()
        self._withdrawn: set[tuple[NodeId, NodeId]] = set()
        self._pretenders: list[NodeId] = []
        self._expiries = Timers()
        # Told of each record that is held from now on, and of each that is let go (True).
        self.on_record: Callable[[Record, bool], None] | None = None
        # The newest version under our name that is not of this life: ours must be newer.
        self.outdone: Version | None = None

    @property
    def records(self) -> Mapping[NodeId, Record]:
        return MappingProxyType(self._records)

    @property
    def contradictions(self) -> Mapping[NodeId, int]:
        """Origins that signed two different records under one version, and how often."""
        return {
            node: origin.contradictions
            for node, origin in self._origins.items()
            if origin.contradictions
        }

    @property
    def pretences(self) -> Mapping[NodeId, int]:
        """Origins that claimed roles which their certificates have not, and how often."""
        return {
            node: origin.pretences for node, origin in self._origins.items() if origin.pretences
        }

    def take_pretenders(self) -> list[NodeId]:
        """The origins of records that claimed too much, since the last call."""
        pretenders, self._pretenders = self._pretenders, []
        return pretenders

    def take_changed(self) -> set[NodeId]:
        """Origins whose record is new, changed or gone since the last call."""
        changed, self._changed = self._changed, set()
        return changed

    def take_withdrawn(self) -> set[tuple[NodeId, NodeId]]:
        """Origins, and the peers that they have lost their links with since the last call."""
        withdrawn, self._withdrawn = self._withdrawn, set()
        return withdrawn

    def statement(self, key: StatementKey) -> bytes | None:
        """The whole statement, if we hold it."""
        if key.kind != RECORD:
            return self._others.get(key.key)
        held = self._held.get(key.key)
        return held.data if held else None

    def lacks(self, entry: SummaryEntry) -> bool:
        """Whether what a neighbour holds would be news."""
        if entry.kind != RECORD:
            return entry.key not in self._others
        origin = self._origins.get(entry.key)
        return origin is None or _packed(origin.floor) < entry.version

    def inventory(self, now: float) -> Inventory:
        """What we hold, in step with the membership to the second."""
        if now - self._reconciled_at >= _RECONCILE_S:
            self.reconcile(now)
        return self._inventory

    def certificate(self, node: NodeId) -> StatementKey | None:
        """The key of a member's certificate, which others may lack."""
        member = self.membership.member(node)
        if member is None:
            return None
        key = key_of(member.certificate)
        if key.key not in self._others:
            self._put_other(key, member.certificate)
        return key

    def publish(self, data: bytes, now: float) -> None:
        """Hold a record that we made ourselves."""
        record = Record.parse(Statement.parse(data).content)
        assert record.origin == self.membership.own.node
        self._hold(_HeldRecord(record, data, now + record.lifetime_s), now)

    def offer(self, data: bytes, now: float, unix_s: float) -> RecordVerdict:
        """Take in a statement from a peer; RemoteError with a stable reason when it is refused."""
        if not _STATEMENT_SIZE_MIN <= len(data) <= STATEMENT_SIZE_MAX:
            raise DecodeError("statement of a wrong size")
        if data[0] != VERSION or data[1] not in KINDS:
            raise DecodeError("statement of an unknown version or kind")
        if data[1] == RECORD:
            return self._offer_record(data, now, unix_s)
        key = key_of(data)
        if key.key in self._others or not self.membership.admit(data, unix_s):
            return RecordVerdict.KNOWN
        self._put_other(key, data)
        self._reconciled_at = float("-inf")  # it may have replaced or ended others
        return RecordVerdict.NEW

    def _offer_record(self, data: bytes, now: float, unix_s: float) -> RecordVerdict:
        statement = Statement.parse(data)
        if statement.realm != self._realm:
            raise ProtocolError("a statement of another realm")
        node, version = version_of(statement.content)
        member = self.membership.member(node)
        if member is None:
            raise ProtocolError("unknown member")
        origin = self._origins.get(node) or _OriginState(now)
        if version < origin.floor:
            return RecordVerdict.STALE
        if version == origin.floor:
            return self._same_version(statement, member, origin)
        if origin.pace.level(now) < 1.0:
            raise ProtocolError("too many records of one origin")
        record = Record.parse(statement.content)
        remaining_s = record.made_s + record.lifetime_s - unix_s
        if record.made_s > unix_s + CLOCK_SKEW_S:
            raise ProtocolError("record from the future")
        if remaining_s <= 0:
            raise ProtocolError("record whose time is over")
        self._check_signature(statement, member)
        if node == self.membership.own.node:
            self.outdone = max(version, self.outdone or _NEVER)
            return RecordVerdict.OWN
        origin.pace.charge(1.0, now)
        self._origins[node] = origin
        expires_at = now + min(remaining_s, float(record.lifetime_s))
        if not roles_of(record.roles) <= member.roles:
            origin.pretences += 1
            self._pretenders.append(node)
            roles = record.roles & role_bits(member.roles)
            record = msgspec.structs.replace(record, roles=roles)
        self._hold(_HeldRecord(record, data, expires_at), now)
        return RecordVerdict.NEW

    def _same_version(
        self, statement: Statement, member: Member, origin: _OriginState
    ) -> RecordVerdict:
        held = self._held.get(member.node)
        if held is None:
            return RecordVerdict.STALE
        if held.data[_CONTENT_AT:-SIGNATURE_SIZE] == statement.content:
            return RecordVerdict.KNOWN
        if origin.contradicted != origin.floor:
            # Only the origin's own signature convicts it.
            self._check_signature(statement, member)
            origin.contradicted = origin.floor
        origin.contradictions += 1
        error = ProtocolError("records contradict each other")
        error.culprit = member.hashname  # the node that passed it on knew only this one
        raise error

    def _check_signature(self, statement: Statement, member: Member) -> None:
        try:
            self._verify(member.signing_key, statement.signed, statement.signature)
        except AuthenticationError as error:
            raise AuthenticationError("record with a forged signature") from error

    def _hold(self, held: _HeldRecord, now: float) -> None:
        node = held.record.origin
        if node in self._held and node != self.membership.own.node:
            self._note_withdrawn(self._held[node].record, held.record)
        self._held[node] = held
        self._records[node] = held.record
        origin = self._origins.get(node)
        if origin is None:
            origin = self._origins[node] = _OriginState(now)
        origin.floor = held.record.version
        self._inventory.put(StatementKey(RECORD, node), _packed(held.record.version))
        self._changed.add(node)
        self._expiries.arm(node.hex(), held.expires_at)
        if self.on_record is not None:
            self.on_record(held.record, False)

    def _note_withdrawn(self, before: Record, after: Record) -> None:
        if before.epoch == after.epoch:  # one who restarted has lost all its links by itself
            kept = {link.peer for link in after.links}
            gone = (link.peer for link in before.links if link.peer not in kept)
            self._withdrawn.update((after.origin, peer) for peer in gone)

    @property
    def deadline(self) -> float | None:
        """When to call `tick`."""
        return self._expiries.deadline

    def tick(self, now: float) -> None:
        """Let go of records whose time is over."""
        for name in self._expiries.take_due(now):
            node = bytes.fromhex(name)
            expires_at = self._held[node].expires_at
            if expires_at <= now:
                self._drop(node)
            else:  # that of a record before it
                self._expiries.arm(name, expires_at)

    def forget(self, node: NodeId) -> None:
        """Forget the records of a node that is no member any more."""
        self._drop(node)
        self._origins.pop(node, None)

    def _drop(self, node: NodeId) -> None:
        """Remove one record and its edges, and no others (R3)."""
        held = self._held.pop(node, None)
        if held is not None:
            del self._records[node]
            self._inventory.remove(StatementKey(RECORD, node))
            self._expiries.disarm(node.hex())
            self._changed.add(node)
            if self.on_record is not None:
                self.on_record(held.record, True)

    def _put_other(self, key: StatementKey, data: bytes) -> None:
        self._others[key.key] = data
        self._inventory.put(key)

    def reconcile(self, now: float) -> None:
        """The membership also changes by time, and by what links show: catch up with it."""
        self._reconciled_at = now
        held = {data: key for key, data in self._others.items()}
        current = set(self.membership.statements())
        for data in held.keys() - current:
            del self._others[held[data]]
            self._inventory.remove(StatementKey(data[1], held[data]))
        for data in current - held.keys():
            self._put_other(key_of(data), data)
        for node in self._origins.keys() - self.membership.members.keys():
            self.forget(node)


def _packed(version: Version) -> int:
    epoch, sequence = version
    return (epoch << 32) + sequence
