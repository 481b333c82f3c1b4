"""Message box: queries and their replies, over plain messages between nodes.

The wire has no query number, so each query is sent from a node of its own and the reply to that
node is its answer. The C++ message box sends the reply to the id of the queried node instead: while
a query is open, this box receives for that id here and matches the reply to the oldest query.
"""

from collections import Counter

from rookery.crow.events import NodeRefused, QueryAnswered, QueryUnanswered
from rookery.crow.nodes.nodes import Nodes, NodeTimer
from rookery.crow.packet_events import NodeMessage, Ticket
from rookery.errors import CongestionError, UsageError

QUERIES_MAX = 1024
ANSWER_WITHIN_S = 5.0


class NodeQuery:
    """An open query: the handler of a node that is registered only for its reply."""

    def __init__(self, box: "MessageBox", nodes: Nodes, address: bytes, remote: int) -> None:
        self.address = address
        self.remote = remote
        self._box = box
        self.timer = NodeTimer(self._late)
        self.node = nodes.register(None, self)

    def received(self, message: NodeMessage, now: float) -> None:
        if (message.return_address, message.sid) == (self.address, self.remote):
            self._box.answered(self, message.data)
        else:
            self._box.drop_stranger()

    def refused(self, refusal: NodeRefused, now: float) -> None:
        if (refusal.return_address, refusal.sid) == (self.address, self.remote):
            self._box.unanswered(self, "no such node there")

    def outcome(self, ticket: Ticket, failure: str | None, now: float) -> None:
        if failure is not None:
            self._box.unanswered(self, "undelivered: " + failure)

    def _late(self, now: float) -> None:
        self._box.unanswered(self, "no reply")


class _StandIn:
    """Receives the replies of C++ message boxes."""

    def __init__(self, box: "MessageBox") -> None:
        self._box = box

    def received(self, message: NodeMessage, now: float) -> None:
        self._box.replied_to_itself(message)

    def refused(self, refusal: NodeRefused, now: float) -> None:
        """Nothing is ever sent from here."""

    def outcome(self, ticket: Ticket, failure: str | None, now: float) -> None:
        """Nothing is ever sent from here."""


class MessageBox:
    """Queries other nodes; queries to its own node arrive as `NodeMessage`."""

    def __init__(self, nodes: Nodes, node: int | None = None) -> None:
        self._nodes = nodes
        self._queries: dict[NodeQuery, None] = {}  # oldest first
        self._open_queries: Counter[int] = Counter()  # open queries per remote node
        self._stand_in = _StandIn(self)
        self.node = nodes.register(node)

    def __len__(self) -> int:
        """Queries without an answer yet."""
        return len(self._queries)

    def query(
        self,
        address: bytes,
        remote: int,
        data: bytes,
        now: float,
        *,
        timeout_s: float = ANSWER_WITHIN_S,
        qos: int = 2,
        ackquant_ms: int = 50,
        chunk_size: int | None = None,
    ) -> NodeQuery:
        """Query a remote node; `QueryAnswered` or `QueryUnanswered` follows."""
        if len(self._queries) >= QUERIES_MAX:
            raise CongestionError(f"{len(self._queries)} queries are open")
        query = NodeQuery(self, self._nodes, address, remote)
        try:
            self._nodes.send(
                address,
                query.node,
                remote,
                data,
                now,
                qos=qos,
                ackquant_ms=ackquant_ms,
                chunk_size=chunk_size,
            )
        except (UsageError, CongestionError):
            self._nodes.unregister(query.node)
            raise
        self._queries[query] = None
        self._open_queries[remote] += 1
        self._nodes.stand_in(remote, self._stand_in)
        self._nodes.wake(query.timer, timeout_s, now)
        return query

    def reply(
        self,
        question: NodeMessage,
        data: bytes,
        now: float,
        *,
        qos: int = 2,
        ackquant_ms: int = 50,
        chunk_size: int | None = None,
    ) -> Ticket:
        """Answer a query that came to this box."""
        return self._nodes.send(
            question.return_address,
            self.node,
            question.sid,
            data,
            now,
            qos=qos,
            ackquant_ms=ackquant_ms,
            chunk_size=chunk_size,
        )

    def cancel(self, query: NodeQuery) -> None:
        """Give the query up without an event."""
        if query in self._queries:
            self._close(query)

    def answered(self, query: NodeQuery, data: bytes) -> None:
        self._close(query)
        self._nodes.emit(QueryAnswered(query, data))

    def unanswered(self, query: NodeQuery, reason: str) -> None:
        if query in self._queries:
            self._close(query)
            self._nodes.emit(QueryUnanswered(query, reason))

    def replied_to_itself(self, message: NodeMessage) -> None:
        """A reply sent to the id of the queried node, not to that of the querying one."""
        expected = (message.return_address, message.rid)
        for query in self._queries:
            if (query.address, query.remote) == expected:
                self.answered(query, message.data)
                return
        self.drop_stranger()

    def drop_stranger(self) -> None:
        self._nodes.tower.dropped["reply from a stranger"] += 1

    def _close(self, query: NodeQuery) -> None:
        del self._queries[query]
        query.timer.due = None
        self._nodes.unregister(query.node)
        self._open_queries[query.remote] -= 1
        if not self._open_queries[query.remote]:
            del self._open_queries[query.remote]
            self._nodes.stand_down(query.remote, self._stand_in)
