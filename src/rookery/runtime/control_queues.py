"""The outbox over the control socket: looked at, added to, and cancelled from."""

from collections.abc import Iterator

from rookery.runtime.control_lines import Do, Request
from rookery.runtime.outbox.queues import Queues
from rookery.runtime.outbox.rows import QueueRow, RequestRow


def queue_rows(queues: Queues, request: Request, host: str) -> Iterator[QueueRow | RequestRow]:
    """The answer to a question about the outbox; `host` is the peer it names, if any."""
    match request.do:
        case Do.QUEUE:
            yield from queues.requests(host)
        case Do.QUEUE_ADD:
            yield queues.add(host, request.text.encode(), request.qos, request.expires_s)
        case Do.QUEUE_CANCEL:
            yield from queues.cancel(host, request.id)
        case _:
            yield from queues.rows()
