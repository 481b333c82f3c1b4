"""P2: messages are observed where their theme is marked for the lake."""

from pathlib import Path

import pytest

from rookery.crow.pubsub.broker import Broker
from rookery.crow.pubsub.orders import BrokerClient
from rookery.errors import UsageError
from rookery.store.observers.messages import LIMITS, message_observer
from rookery.store.observers.observer import Observer
from rookery.store.spool.reader import SpoolReader
from rookery.wire.crow.message import Publish
from rookery.wire.crow.pubsub import PubSubRequest, Subscribe
from rookery.wire.observation import Observation
from rookery.wire.observation_content import PAYLOAD_SIZE_MAX, PublishedMessage
from tests.store.seen import seen

ALICE = BrokerClient(bytes([12, 127, 0, 0, 1, 27, 1]), 98)


async def test_marked_themes_are_kept_and_no_others(tmp_path: Path) -> None:
    broker = Broker(0.0)
    async with await Observer.open(tmp_path, "", LIMITS) as observer:
        broker.on_published = message_observer(["sensors/#", "news"], observer)
        for theme in (b"sensors/hall", b"weather", b"news", b"news/local"):
            broker.received(ALICE, Publish(theme, b"21.5").serialize(), 0.0, 2)
        broker.received(ALICE, Subscribe(b"news", 1, 100).serialize(), 0.0)
        broker.received(ALICE, b"\xff\xff", 0.0)
        broker.received(ALICE, PubSubRequest(b"news", b"back", b"?", 1, 100).serialize(), 0.0)
        broker.publish(b"news", b"of our own", 0.0)
    told = seen(tmp_path, PublishedMessage)
    assert [(each.theme, each.qos, each.payload) for each in told] == [
        ("sensors/hall", 2, b"21.5"),
        ("news", 2, b"21.5"),
        ("news", 0, b"?"),
        ("news", 0, b"of our own"),
    ]
    assert {each.publisher for each in told} == {".12.127.0.0.1:6913", ""}
    assert {each.size for each in told} == {4, 1, 10}


async def test_a_large_payload_is_left_out_and_a_name_that_is_no_text_replaced(
    tmp_path: Path,
) -> None:
    async with await Observer.open(tmp_path, "") as observer:
        published = message_observer(["#"], observer)
        published(ALICE, b"\xff", bytes(PAYLOAD_SIZE_MAX), 0)
        published(ALICE, b"large", bytes(PAYLOAD_SIZE_MAX + 1), 0)
    kept, left_out = seen(tmp_path, PublishedMessage)
    assert kept.payload == bytes(PAYLOAD_SIZE_MAX)
    assert kept.theme == "\ufffd"
    assert (left_out.payload, left_out.size) == (None, PAYLOAD_SIZE_MAX + 1)


async def test_a_program_without_keys_is_identified_by_its_folder(tmp_path: Path) -> None:
    for folder in ("one", "other", "one"):
        async with await Observer.open(tmp_path / folder, "") as observer:
            message_observer(["#"], observer)(None, b"theme", b"", 0)

    def senders(folder: str) -> list[bytes]:
        spool = SpoolReader(tmp_path / folder / "spool")
        return [Observation.parse(each.data).sender for each in spool]

    first, second = senders("one")
    assert first == second != senders("other")[0]
    assert first[0] & 1  # as no device's


async def test_patterns_have_a_bound(tmp_path: Path) -> None:
    async with await Observer.open(tmp_path, "") as observer:
        with pytest.raises(UsageError, match="at most 64"):
            message_observer(map(str, range(65)), observer)
