"""The broker (C7, C8): events in, sends out; the defects of the C++ broker, and hostile clients."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.crow.limits import BrokerLimits, ClientLimits, ThemeLimits
from rookery.crow.pubsub.broker import Broker
from rookery.crow.pubsub.orders import BrokerClient, BrokerSend
from rookery.errors import UsageError
from rookery.wire.crow.message import Consume, Publish
from rookery.wire.crow.pubsub import (
    CONTROL_THEME,
    NO_ANSWER,
    Operation,
    PubSubQuery,
    PubSubRequest,
    Subscribe,
    SubscribeLatest,
    Unsubscribe,
)

ALICE, BOB, CAROL = (BrokerClient(bytes([12, 127, 0, 0, 1, 27, port]), 98) for port in (1, 2, 3))
THEME = b"alpha"


class Broking:
    """A broker and its clock."""

    def __init__(self, limits: BrokerLimits | None = None) -> None:
        self.now = 0.0
        self.broker = Broker(self.now, limits)

    def says(self, client: BrokerClient, operation: Operation) -> list[BrokerSend]:
        return self.broker.received(client, operation.serialize(), self.now)

    def subscribe(self, client: BrokerClient, theme: bytes = THEME, rqos: int = 1) -> None:
        assert self.says(client, Subscribe(theme, rqos, 100)) == []

    def publish(self, data: bytes = b"data", theme: bytes = THEME) -> list[BrokerClient]:
        """Who is sent the message."""
        sends = self.says(CAROL, Publish(theme, data))
        assert {send.body for send in sends} <= {Consume(theme, data).serialize()}
        return [send.client for send in sends]

    def passes(self, seconds: float) -> None:
        self.now += seconds
        self.broker.tick(self.now)


@pytest.fixture
def broking() -> Broking:
    return Broking()


def test_a_message_goes_to_every_subscriber_on_its_own_terms(broking: Broking) -> None:
    broking.says(ALICE, Subscribe(THEME, 1, 100))
    broking.says(BOB, Subscribe(THEME, 2, 50))
    body = Consume(THEME, b"msg").serialize()
    sends = broking.says(CAROL, Publish(THEME, b"msg"))
    assert sends == [BrokerSend(ALICE, body, 1, 100), BrokerSend(BOB, body, 2, 50)]


def test_all_subscribers_share_the_bytes_of_a_message(broking: Broking) -> None:
    broking.subscribe(ALICE)
    broking.subscribe(BOB)
    first, second = broking.says(CAROL, Publish(THEME, b"msg"))
    assert first.body is second.body


def test_other_themes_are_not_sent(broking: Broking) -> None:
    broking.subscribe(ALICE)
    assert broking.publish(theme=b"alphabet") == []


def test_two_nodes_at_one_address_are_two_clients(broking: Broking) -> None:
    other = BrokerClient(ALICE.address, 99)
    broking.subscribe(ALICE)
    broking.subscribe(other)
    assert broking.publish() == [ALICE, other]


def test_a_publisher_that_subscribed_gets_its_own_message(broking: Broking) -> None:
    broking.subscribe(CAROL)
    assert broking.publish() == [CAROL]


def test_saying_it_again_changes_the_terms_and_nothing_else(broking: Broking) -> None:
    broking.subscribe(ALICE, rqos=0)
    broking.subscribe(ALICE, rqos=2)
    assert [(send.qos, send.client) for send in broking.says(BOB, Publish(THEME, b""))] == [
        (2, ALICE)
    ]


def test_unsubscribe_works(broking: Broking) -> None:
    """The C++ broker accepts it and goes on sending."""
    broking.subscribe(ALICE)
    broking.subscribe(BOB)
    broking.says(ALICE, Unsubscribe(THEME))
    assert broking.publish() == [BOB]
    broking.says(ALICE, Unsubscribe(THEME))
    broking.says(ALICE, Unsubscribe(b"never heard of"))


def test_the_latest_come_newest_first(broking: Broking) -> None:
    for data in (b"one", b"two", b"three"):
        broking.publish(data)
    sends = broking.says(ALICE, SubscribeLatest(THEME, 1, 100, 2))
    bodies = [Consume(THEME, data).serialize() for data in (b"three", b"two")]
    assert sends == [BrokerSend(ALICE, body, 1, 100) for body in bodies]
    assert broking.publish() == [ALICE]


def test_asking_for_the_latest_may_be_the_first_thing_a_client_says(broking: Broking) -> None:
    """The C++ broker dies of it when the theme has a message."""
    broking.publish(b"one")
    assert len(broking.says(ALICE, SubscribeLatest(THEME, 2, 100, 1000))) == 1


def test_the_latest_can_be_had_without_what_is_to_come(broking: Broking) -> None:
    broking.publish(b"one")
    assert len(broking.says(ALICE, SubscribeLatest(THEME, 1, 100, 1, updates=False))) == 1
    assert broking.publish() == []
    broking.subscribe(ALICE)
    broking.says(ALICE, SubscribeLatest(THEME, 1, 100, 1, updates=False))
    assert broking.publish() == [ALICE]


def test_the_latest_of_an_unknown_theme_are_none(broking: Broking) -> None:
    assert broking.says(ALICE, SubscribeLatest(THEME, 1, 100, 1, updates=False)) == []
    assert broking.broker.themes.find(THEME) is None


def test_none_of_the_latest_is_a_subscription(broking: Broking) -> None:
    broking.publish(b"one")
    assert broking.says(ALICE, SubscribeLatest(THEME, 1, 100, 0)) == []
    assert broking.publish() == [ALICE]


def test_a_request_reaches_the_service_and_its_answer_comes_back(broking: Broking) -> None:
    broking.subscribe(BOB, b"svc")
    question = PubSubQuery(b"ijwK3Wwqav", b"question").serialize()
    sends = broking.says(ALICE, PubSubRequest(b"svc", b"ijwK3Wwqav", b"question", 1, 100))
    assert sends == [BrokerSend(BOB, Consume(b"svc", question).serialize(), 1, 100)]
    assert broking.publish(b"answer", b"ijwK3Wwqav") == [ALICE]
    broking.says(ALICE, Unsubscribe(b"ijwK3Wwqav"))
    assert broking.publish(b"answer", b"ijwK3Wwqav") == []


def test_a_request_that_wants_no_answer_subscribes_to_nothing(broking: Broking) -> None:
    broking.subscribe(BOB, b"svc")
    sends = broking.says(ALICE, PubSubRequest(b"svc", NO_ANSWER, b"order", 1, 100))
    assert [send.client for send in sends] == [BOB]
    assert broking.publish(b"answer", NO_ANSWER) == []


class TestKeepalive:
    def test_an_unconfirmed_client_silent_for_twenty_seconds_is_gone(
        self, broking: Broking
    ) -> None:
        broking.subscribe(ALICE, rqos=0)
        broking.passes(19.9)
        assert broking.publish() == [ALICE]
        broking.passes(0.2)
        assert broking.publish() == []
        assert len(broking.broker.clients) == 0

    def test_it_is_gone_at_the_next_publish_without_a_tick(self, broking: Broking) -> None:
        broking.subscribe(ALICE, rqos=0)
        assert broking.broker.deadline == 20.0
        broking.now = 20.1
        assert broking.publish() == []
        assert broking.broker.deadline is None

    def test_saying_it_again_keeps_the_client(self, broking: Broking) -> None:
        broking.subscribe(ALICE, rqos=0)
        broking.subscribe(ALICE, b"beta", rqos=0)
        for _ in range(20):
            broking.passes(2.0)
            broking.subscribe(ALICE, b"beta", rqos=0)
        assert broking.publish() == [ALICE]

    def test_a_confirmed_client_may_be_silent(self, broking: Broking) -> None:
        broking.subscribe(ALICE, rqos=1)
        broking.passes(1e6)
        assert broking.publish() == [ALICE]

    def test_one_undelivered_message_ends_all_subscriptions(self, broking: Broking) -> None:
        broking.subscribe(ALICE, b"beta", rqos=0)
        broking.subscribe(ALICE, rqos=1)
        broking.subscribe(BOB, rqos=1)
        broking.broker.undelivered(ALICE)
        assert broking.publish() == [BOB]
        assert broking.publish(theme=b"beta") == []
        broking.subscribe(ALICE)
        assert broking.publish() == [BOB, ALICE]

    def test_an_undelivered_message_of_a_stranger_is_no_news(self, broking: Broking) -> None:
        broking.broker.undelivered(ALICE)

    def test_only_unconfirmed_subscriptions_end_by_silence(self, broking: Broking) -> None:
        broking.subscribe(ALICE, b"beta", rqos=0)
        broking.subscribe(ALICE, rqos=2)
        broking.passes(21)
        assert broking.publish(theme=b"beta") == []
        assert broking.publish() == [ALICE]


class TestWildcards:
    def test_a_pattern_gets_every_theme_it_stands_for(self, broking: Broking) -> None:
        broking.subscribe(ALICE, b"sensors/+/t")
        broking.subscribe(BOB, b"sensors/#")
        assert broking.publish(theme=b"sensors/1/t") == [BOB, ALICE]
        assert broking.publish(theme=b"sensors") == [BOB]
        assert broking.publish(theme=b"other") == []

    def test_several_matches_send_once_and_the_plain_name_decides(self, broking: Broking) -> None:
        broking.subscribe(ALICE, b"a/#", rqos=2)
        broking.subscribe(ALICE, b"+/b", rqos=1)
        assert [send.qos for send in broking.says(BOB, Publish(b"a/b", b""))] == [2]
        broking.subscribe(ALICE, b"a/b", rqos=0)
        assert [send.qos for send in broking.says(BOB, Publish(b"a/b", b""))] == [0]

    def test_unsubscribing_a_pattern_works(self, broking: Broking) -> None:
        broking.subscribe(ALICE, b"a/+")
        broking.subscribe(BOB, b"a/+")
        assert broking.publish(theme=b"a/b") == [ALICE, BOB]
        broking.says(ALICE, Unsubscribe(b"a/+"))
        assert broking.publish(theme=b"a/b") == [BOB]
        broking.says(BOB, Unsubscribe(b"a/+"))
        assert broking.publish(theme=b"a/b") == []

    def test_the_latest_of_a_pattern_are_those_of_each_theme(self, broking: Broking) -> None:
        for theme, data in ((b"a/x", b"1"), (b"a/y", b"2"), (b"a/x", b"3"), (b"b", b"4")):
            broking.publish(data, theme)
        sends = broking.says(ALICE, SubscribeLatest(b"a/+", 1, 100, 1))
        bodies = [Consume(b"a/x", b"3").serialize(), Consume(b"a/y", b"2").serialize()]
        assert [send.body for send in sends] == bodies

    def test_a_name_that_only_contains_the_signs_is_plain(self, broking: Broking) -> None:
        """Exact strings otherwise, as in C++."""
        broking.subscribe(ALICE, b"c+")
        broking.subscribe(ALICE, b"#/c")
        assert broking.publish(theme=b"cx") == []
        assert broking.publish(theme=b"x/c") == []
        assert broking.publish(theme=b"c+") == [ALICE]
        assert broking.publish(theme=b"#/c") == [ALICE]

    def test_patterns_match_themes_that_there_is_no_room_for(self) -> None:
        broking = Broking(BrokerLimits(themes=ThemeLimits(themes_max=1)))
        broking.subscribe(ALICE, b"#")
        assert broking.publish() == [ALICE]
        assert broking.broker.dropped == {"no room for a theme": 1}

    def test_patterns_are_bounded_in_number_and_depth(self) -> None:
        broking = Broking(BrokerLimits(patterns_max=1))
        broking.subscribe(ALICE, b"+/" * 16 + b"+")
        broking.subscribe(ALICE, b"a/+")
        broking.subscribe(ALICE, b"b/+")
        broking.subscribe(BOB, b"a/+")
        assert broking.broker.dropped == {"no room for a pattern": 2}
        assert broking.publish(theme=b"a/b") == [ALICE, BOB]


class TestLegacy:
    def test_packets_of_type_4_share_the_themes(self, broking: Broking) -> None:
        old = BrokerClient(ALICE.address, None)
        data = Subscribe(THEME, 1, 100).serialize_legacy()
        assert broking.broker.received_legacy(ALICE.address, data, 0.0) == []
        broking.subscribe(BOB)
        assert broking.publish() == [old, BOB]
        data = Publish(THEME, b"hello").serialize_legacy()
        sends = broking.broker.received_legacy(CAROL.address, data, 0.0)
        assert [send.client for send in sends] == [old, BOB]
        assert sends[0].body == Consume(THEME, b"hello").serialize_legacy()

    def test_what_only_a_broker_says_is_dropped(self, broking: Broking) -> None:
        data = Consume(THEME, b"x").serialize_legacy()
        assert broking.broker.received_legacy(CAROL.address, data, 0.0) == []
        assert broking.says(CAROL, Consume(THEME, b"x")) == []
        assert broking.broker.dropped == {"not for a broker": 2}


class TestControlTheme:
    def test_the_broker_answers_commands(self, broking: Broking) -> None:
        sends = broking.says(ALICE, PubSubRequest(CONTROL_THEME, b"reply", b"theme-names", 1, 100))
        body = Consume(b"reply", b"crowker/control\nreply\n").serialize()
        assert sends == [BrokerSend(ALICE, body, 1, 100)]

    def test_others_may_listen_to_the_commands(self, broking: Broking) -> None:
        broking.subscribe(BOB, CONTROL_THEME)
        sends = broking.says(ALICE, PubSubRequest(CONTROL_THEME, b"reply", b"themes", 1, 100))
        assert [send.client for send in sends] == [BOB, ALICE]

    @pytest.mark.parametrize("reply", [NO_ANSWER, CONTROL_THEME])
    def test_some_commands_are_not_answered(self, broking: Broking, reply: bytes) -> None:
        broking.subscribe(ALICE, CONTROL_THEME)
        sends = broking.says(BOB, PubSubRequest(CONTROL_THEME, reply, b"themes", 1, 100))
        assert all(send.body.endswith(b"themes") for send in sends)

    def test_a_message_that_is_no_command_is_dropped(self, broking: Broking) -> None:
        assert broking.publish(b"", CONTROL_THEME) == []
        assert broking.publish(b"\xffthemes", CONTROL_THEME) == []
        assert broking.broker.dropped == {"malformed": 2}

    def test_the_control_node_answers_the_same(self, broking: Broking) -> None:
        assert broking.broker.command(b"theme-names") == b"crowker/control\n"


class TestHostility:
    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"\x00",
            b"\x00\x05\xff\xffalpha",  # data longer than the packet: C++ publishes its own heap
            b"\x00\xff\x01\x00a",  # a theme longer than the packet
            b"\x00\x01\x00\x00a and more",
            b"\x01\x03\x64\x00\x01a",  # no such quality of service
            b"\x01\x01\x64\x00\x09a",
            b"\x03\x01\x64\x00\x01\xff\x00\x00a",
            b"\x04\x01\x64\x00\x01\xff\xff\xff",
            b"\x06\x01\x64\x00\x01a",
        ],
    )
    def test_lengths_that_lie_are_dropped_and_counted(self, broking: Broking, body: bytes) -> None:
        broking.subscribe(ALICE, b"a")
        broking.subscribe(ALICE)
        assert broking.broker.received(BOB, body, 0.0) == []
        assert broking.broker.received_legacy(BOB.address, b"\x01" + body[1:], 0.0) == []
        assert broking.broker.dropped == {"malformed": 2}

    def test_a_body_beyond_any_packet_is_dropped(self, broking: Broking) -> None:
        assert broking.broker.received(BOB, bytes((1 << 16) + 1), 0.0) == []
        assert broking.broker.dropped == {"too large": 1}

    @given(st.binary(max_size=64), st.booleans())
    def test_any_bytes_are_served_or_dropped(self, body: bytes, is_legacy: bool) -> None:
        broker = Broker(0.0)
        if is_legacy:
            broker.received_legacy(BOB.address, body, 0.0)
        else:
            broker.received(BOB, body, 0.0)
        assert broker.dropped.total() <= 2

    @pytest.mark.slow
    def test_a_hundred_thousand_fake_clients_stay_within_the_bounds(self) -> None:
        limits = ClientLimits(clients_max=100, client_themes_max=5, subscriptions_max=300)
        themes = ThemeLimits(themes_max=50)
        broking = Broking(BrokerLimits(themes=themes, clients=limits))
        broking.subscribe(ALICE)
        for number in range(100_000):
            fake = BrokerClient(number.to_bytes(4, "big"), number % 7)
            theme = b"t%d" % (number % 997)
            broking.broker.received(fake, Subscribe(theme, 1, 100).serialize(), 1.0)
        broker = broking.broker
        assert len(broker.clients) == 100
        assert len(broker.themes) == 50
        assert broker.dropped.total() == 100_001 - broker.clients.subscriptions
        assert broking.publish() == [ALICE]

    def test_the_silent_make_room_for_new_clients(self) -> None:
        broking = Broking(BrokerLimits(clients=ClientLimits(clients_max=2)))
        broking.subscribe(ALICE)
        broking.passes(1)
        broking.subscribe(BOB)
        broking.subscribe(CAROL)
        assert broking.publish() == [ALICE, BOB]
        broking.passes(19.5)
        broking.subscribe(CAROL)
        assert broking.publish() == [BOB, CAROL]

    def test_a_client_can_subscribe_to_so_many_themes_only(self) -> None:
        broking = Broking(BrokerLimits(clients=ClientLimits(client_themes_max=2)))
        for theme in (b"a", b"b", b"c"):
            broking.subscribe(ALICE, theme)
        assert broking.publish(theme=b"c") == []
        assert broking.broker.dropped == {"no room for a subscription": 1}
        broking.passes(20)
        broking.subscribe(ALICE, b"b")
        broking.subscribe(ALICE, b"c")
        assert broking.publish(theme=b"a") == []
        assert broking.publish(theme=b"b") == [ALICE]
        assert broking.publish(theme=b"c") == [ALICE]

    def test_the_total_of_subscriptions_is_bounded(self) -> None:
        broking = Broking(BrokerLimits(clients=ClientLimits(subscriptions_max=2)))
        broking.subscribe(ALICE, b"a")
        broking.subscribe(BOB, b"a")
        broking.subscribe(BOB, b"b")
        assert broking.publish(theme=b"b") == []

    def test_requests_without_end_do_not_fill_the_themes(self) -> None:
        """A requestor that never says Unsubscribe and falls silent, as ctrans when it leaves."""
        broking = Broking(BrokerLimits(themes=ThemeLimits(themes_max=20)))
        broking.subscribe(ALICE, b"svc", rqos=2)
        for number in range(1000):
            client = BrokerClient(BOB.address, number)
            reply = b"reply-%d" % number
            sends = broking.says(client, PubSubRequest(b"svc", reply, b"?", 1, 100))
            assert [send.client for send in sends] == [ALICE]
            assert broking.publish(b"!", reply) == [client]
            broking.broker.undelivered(client)
        assert len(broking.broker.themes) == 20

    def test_one_wish_for_the_latest_calls_up_so_much_only(self) -> None:
        broking = Broking(BrokerLimits(latest_max=3, latest_bytes_max=2000))
        for _ in range(4):
            broking.publish(bytes(10), b"a/few")
            broking.publish(bytes(700), b"a/many")
        assert len(broking.says(ALICE, SubscribeLatest(b"a/few", 1, 100, 2**31 - 1))) == 3
        assert len(broking.says(ALICE, SubscribeLatest(b"a/many", 1, 100, 9))) == 2
        assert len(broking.says(ALICE, SubscribeLatest(b"a/#", 1, 100, 9))) == 3

    def test_a_publisher_cannot_fill_the_memory(self) -> None:
        themes = ThemeLimits(themes_max=10, theme_bytes_max=5000, bytes_max=20_000)
        broking = Broking(BrokerLimits(themes=themes))
        for number in range(2000):
            broking.publish(bytes(number % 900), b"t%d" % (number % 37))
            broking.passes(0.1)
        assert broking.broker.themes.size <= 20_000
        assert len(broking.broker.themes) <= 10


def test_the_process_itself_may_publish(broking: Broking) -> None:
    broking.subscribe(ALICE)
    sends = broking.broker.publish(THEME, b"local", 0.0)
    assert [send.client for send in sends] == [ALICE]
    assert broking.broker.published == 1
    for theme, data in ((bytes(256), b""), (b"", bytes(1 << 16)), (bytes(200), bytes(65_500))):
        with pytest.raises(UsageError):
            broking.broker.publish(theme, data, 0.0)
