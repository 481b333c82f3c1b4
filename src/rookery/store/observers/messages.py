"""Message observer: what is published under the themes that are marked for the lake."""

from collections.abc import Iterable

from rookery.crow.pubsub.broker import OnPublished
from rookery.crow.pubsub.orders import BrokerClient
from rookery.crow.pubsub.patterns import matches
from rookery.errors import UsageError
from rookery.store.observers.observer import Observer, ObserverLimits, wall_ms
from rookery.wire.crow import address
from rookery.wire.observation_content import PAYLOAD_SIZE_MAX, THEME_SIZE_MAX, PublishedMessage

LIMITS = ObserverLimits(per_s=2000.0, burst=20_000.0, bytes_max=1 << 30)
PATTERNS_MAX = 64  # each is held against each message

_PUBLISHER_SIZE_MAX = 64


def message_observer(patterns: Iterable[str], observer: Observer) -> OnPublished:
    """What a broker is to call; UsageError where there are too many patterns."""
    marked = [pattern.encode() for pattern in patterns]
    if len(marked) > PATTERNS_MAX:
        raise UsageError(f"at most {PATTERNS_MAX} themes can be marked for the lake")

    def published(client: BrokerClient | None, theme: bytes, data: bytes, qos: int) -> None:
        if not any(matches(pattern, theme) for pattern in marked):
            return
        seen = PublishedMessage(
            t=wall_ms(),
            theme=theme.decode(errors="replace")[:THEME_SIZE_MAX],
            publisher=_publisher(client),
            qos=qos,
            size=len(data),
            payload=data if len(data) <= PAYLOAD_SIZE_MAX else None,
        )
        observer.note(seen)

    return published


def _publisher(client: BrokerClient | None) -> str:
    """Where answers to it go; nothing for the broker itself."""
    return "" if client is None else address.format(client.address)[:_PUBLISHER_SIZE_MAX]
