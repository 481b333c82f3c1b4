"""Between one client and one device (F11)."""

import json
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from rookery.fleet.rpc.message import (
    BUSY,
    CLIENT_LOST,
    DEVICE_LOST,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    MESSAGE_SIZE_MAX,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    TIMED_OUT,
    TOO_LARGE,
)
from rookery.fleet.rpc.relay import (
    RelayAction,
    RelayedCall,
    RelayLimits,
    RpcRelay,
    SendToClient,
    SendToDevice,
)


def relay(calls_max: int = 64) -> RpcRelay:
    made = RpcRelay("ann", "router", RelayLimits(call_s=30.0, calls_max=calls_max))
    made.client_came()
    return made


def call(id_: object, method: str = "m", params: object = None) -> dict[str, object]:
    message = {"jsonrpc": "2.0", "method": method, "id": id_}
    return message if params is None else message | {"params": params}


def data(message: object) -> bytes:
    return json.dumps(message).encode()


def to_device(actions: list[RelayAction]) -> list[dict[str, object]]:
    return [json.loads(each.message) for each in actions if isinstance(each, SendToDevice)]


def to_client(actions: list[RelayAction]) -> list[Any]:
    return [json.loads(each.message) for each in actions if isinstance(each, SendToClient)]


def audits(actions: list[RelayAction]) -> list[RelayedCall]:
    return [each for each in actions if isinstance(each, RelayedCall)]


def result(id_: object, value: object) -> bytes:
    return data({"jsonrpc": "2.0", "result": value, "id": id_})


def codes(answer: Any) -> list[object]:  # noqa: ANN401
    answers = answer if isinstance(answer, list) else [answer]
    return [each["error"]["code"] if "error" in each else None for each in answers]


def test_f11_ids_are_mapped_there_and_back() -> None:
    rpc_relay = relay()
    sent = to_device(rpc_relay.from_client(data(call("a", "one", [1])), 0.0))
    sent += to_device(rpc_relay.from_client(data(call(7, "two", {"x": 2})), 0.1))
    assert [(each["method"], each["params"]) for each in sent] == [("one", [1]), ("two", {"x": 2})]
    assert sent[0]["id"] != sent[1]["id"]
    second = rpc_relay.from_device(result(sent[1]["id"], "second"), 0.35)
    assert to_client(second) == [{"jsonrpc": "2.0", "result": "second", "id": 7}]
    assert audits(second) == [RelayedCall("ann", "router", "two", 250, 0)]
    error = {"code": -5, "message": "no", "data": [1]}
    first = rpc_relay.from_device(
        data({"jsonrpc": "2.0", "error": error, "id": sent[0]["id"]}), 0.5
    )
    assert to_client(first) == [{"jsonrpc": "2.0", "error": error, "id": "a"}]
    assert audits(first) == [RelayedCall("ann", "router", "one", 500, -5)]


def test_equal_ids_of_the_client_are_its_own_business() -> None:
    rpc_relay = relay()
    one = to_device(rpc_relay.from_client(data(call(1, "one")), 0.0))[0]
    two = to_device(rpc_relay.from_client(data(call(1, "two")), 0.0))[0]
    assert to_client(rpc_relay.from_device(result(two["id"], 2), 0.0)) == [json.loads(result(1, 2))]
    assert to_client(rpc_relay.from_device(result(one["id"], 1), 0.0)) == [json.loads(result(1, 1))]


def test_parameters_and_results_pass_as_they_are() -> None:
    rpc_relay = relay()
    params, value = b"[1.10, 1e400,123456789012345678901234567890]", b'{"a": 0.10}'
    sent = rpc_relay.from_client(
        b'{"jsonrpc":"2.0","method":"m","params":' + params + b',"id":1.0}', 0
    )
    assert sent == [SendToDevice(b'{"jsonrpc":"2.0","method":"m","params":' + params + b',"id":1}')]
    answered = rpc_relay.from_device(b'{"jsonrpc":"2.0","id":1,"result":' + value + b"}", 0)
    assert answered[0] == SendToClient(b'{"jsonrpc":"2.0","result":' + value + b',"id":1.0}')


def test_f11_a_batch_is_answered_as_one_when_all_of_it_is() -> None:
    rpc_relay = relay()
    batch = [call(1, "one"), {"jsonrpc": "2.0", "method": "note"}, 5, call(2, "two")]
    actions = rpc_relay.from_client(data(batch), 0.0)
    one, note, two = to_device(actions)
    assert "id" not in note
    assert to_client(actions) == []
    assert to_client(rpc_relay.from_device(result(two["id"], "b"), 0.1)) == []
    [answer] = to_client(rpc_relay.from_device(result(one["id"], "a"), 0.2))
    assert isinstance(answer, list)
    assert codes(answer) == [INVALID_REQUEST, None, None]
    assert [each["id"] for each in answer] == [None, 2, 1]


def test_a_batch_of_notifications_is_not_answered() -> None:
    rpc_relay = relay()
    note = {"jsonrpc": "2.0", "method": "note", "params": [1]}
    actions = rpc_relay.from_client(data([note, note]), 0.0)
    assert to_device(actions) == [note, note]
    assert to_client(actions) == []
    assert audits(actions) == [RelayedCall("ann", "router", "note", 0, 0)] * 2


def test_f11_a_call_without_an_answer_in_time_is_answered_with_an_error() -> None:
    rpc_relay = relay()
    assert rpc_relay.deadline is None
    first = to_device(rpc_relay.from_client(data(call(1)), 5.0))[0]
    rpc_relay.from_client(data([call(2), call(3)]), 6.0)
    assert rpc_relay.deadline == 35.0
    assert rpc_relay.tick(34.9) == []
    late = rpc_relay.tick(35.0)
    assert [codes(each) for each in to_client(late)] == [[TIMED_OUT]]
    assert audits(late) == [RelayedCall("ann", "router", "m", 30_000, TIMED_OUT)]
    assert rpc_relay.deadline == 36.0
    assert [codes(each) for each in to_client(rpc_relay.tick(40.0))] == [[TIMED_OUT, TIMED_OUT]]
    assert rpc_relay.from_device(result(first["id"], "late"), 41.0) == []
    assert rpc_relay.counters["strays"] == 1


def test_f11_a_lost_device_answers_every_open_call() -> None:
    rpc_relay = relay()
    rpc_relay.from_client(data(call("x")), 0.0)
    rpc_relay.from_client(data([call("y"), call("z")]), 0.0)
    lost = rpc_relay.device_lost(1.0)
    assert [codes(each) for each in to_client(lost)] == [[DEVICE_LOST], [DEVICE_LOST] * 2]
    assert [each.code for each in audits(lost)] == [DEVICE_LOST] * 3
    assert rpc_relay.open_calls == 0
    after = rpc_relay.from_client(data(call("w")), 2.0)
    assert [codes(each) for each in to_client(after)] == [[DEVICE_LOST]]
    assert to_device(after) == []
    note = rpc_relay.from_client(data({"jsonrpc": "2.0", "method": "note"}), 2.0)
    assert note == [RelayedCall("ann", "router", "note", 0, DEVICE_LOST)]


def test_a_client_that_comes_back_hears_nothing_of_what_it_asked_before() -> None:
    rpc_relay = relay()
    before = to_device(rpc_relay.from_client(data(call(1, "before")), 0.0))[0]
    assert rpc_relay.client_lost(2.0) == [RelayedCall("ann", "router", "before", 2000, CLIENT_LOST)]
    assert rpc_relay.from_device(data({"jsonrpc": "2.0", "method": "note"}), 2.0) == []
    assert rpc_relay.counters["unheard"] == 1
    rpc_relay.client_came()
    after = to_device(rpc_relay.from_client(data(call(1, "after")), 3.0))[0]
    assert rpc_relay.from_device(result(before["id"], "old"), 3.0) == []
    assert to_client(rpc_relay.from_device(result(after["id"], "new"), 3.0)) == [
        {"jsonrpc": "2.0", "result": "new", "id": 1}
    ]


def test_answers_that_nobody_waits_for_are_dropped_and_counted() -> None:
    rpc_relay = relay()
    sent = to_device(rpc_relay.from_client(data(call(1)), 0.0))[0]
    for stray in (None, "1", 99, 1.0, -1):
        assert rpc_relay.from_device(result(stray, "x"), 0.0) == []
    assert len(to_client(rpc_relay.from_device(result(sent["id"], "x"), 0.0))) == 1
    assert rpc_relay.from_device(result(sent["id"], "again"), 0.0) == []
    assert rpc_relay.counters == {"strays": 6}


def test_notifications_of_the_device_reach_the_client() -> None:
    note = {"jsonrpc": "2.0", "method": "log.line", "params": ["x"]}
    assert to_client(relay().from_device(data([note, note]), 0.0)) == [note, note]


def test_a_client_has_no_methods() -> None:
    rpc_relay = relay()
    actions = rpc_relay.from_device(data(call(5, "reboot")), 0.0)
    assert to_client(actions) == []
    assert codes(to_device(actions)[0]) == [METHOD_NOT_FOUND]
    assert to_device(actions)[0]["id"] == 5


@pytest.mark.parametrize("rubbish", [b"", b"{", b"[]", b"1", b"[1]", b"\xff", b'{"id":1}'])
def test_rubbish_of_the_device_is_counted(rubbish: bytes) -> None:
    rpc_relay = relay()
    assert rpc_relay.from_device(rubbish, 0.0) == []
    assert rpc_relay.counters == {"rubbish": 1}


@pytest.mark.parametrize("error", ["no", None, {"code": "1", "message": "x"}, {"code": 1}])
def test_an_error_that_is_none_becomes_an_internal_one(error: object) -> None:
    rpc_relay = relay()
    sent = to_device(rpc_relay.from_client(data(call("x")), 0.0))[0]
    answered = rpc_relay.from_device(
        data({"jsonrpc": "2.0", "error": error, "id": sent["id"]}), 0.0
    )
    assert [codes(each) for each in to_client(answered)] == [[INTERNAL_ERROR]]
    assert [each.code for each in audits(answered)] == [INTERNAL_ERROR]


@pytest.mark.parametrize(
    ("sent", "code"), [(b"{", PARSE_ERROR), (b"[]", INVALID_REQUEST), (b"5", INVALID_REQUEST)]
)
def test_rubbish_of_the_client_is_answered_here(sent: bytes, code: int) -> None:
    rpc_relay = relay()
    actions = rpc_relay.from_client(sent, 0.0)
    assert [codes(each) for each in to_client(actions)] == [[code]]
    assert to_device(actions) == []
    assert rpc_relay.counters == {"invalid": 1}


def test_open_calls_have_a_bound() -> None:
    rpc_relay = relay(calls_max=3)
    actions = rpc_relay.from_client(data([call(number) for number in range(5)]), 0.0)
    assert len(to_device(actions)) == 3
    assert [each.code for each in audits(actions)] == [BUSY, BUSY]
    [answer] = to_client(rpc_relay.tick(30.0))
    assert codes(answer) == [BUSY, BUSY, TIMED_OUT, TIMED_OUT, TIMED_OUT]


def test_a_message_that_our_id_makes_too_long_is_refused() -> None:
    rpc_relay = relay()
    for number in range(9):
        [sent] = to_device(rpc_relay.from_client(data(call(number)), 0.0))
        rpc_relay.from_device(result(sent["id"], 1), 0.0)
    whole = b'{"jsonrpc":"2.0","method":"m","params":["%b"],"id":1}'
    most = whole % (b"x" * (MESSAGE_SIZE_MAX - len(whole) + 2))
    assert len(most) == MESSAGE_SIZE_MAX
    actions = rpc_relay.from_client(most, 0.0)  # the tenth call: two digits
    assert to_device(actions) == []
    assert codes(to_client(actions)[0]) == [INVALID_REQUEST]


def test_answers_to_a_batch_fit_a_message_together() -> None:
    rpc_relay = relay()
    one, two = to_device(rpc_relay.from_client(data([call(1), call(2)]), 0.0))
    large = "x" * (MESSAGE_SIZE_MAX // 2)
    rpc_relay.from_device(result(one["id"], large), 0.0)
    [answer] = to_client(rpc_relay.from_device(result(two["id"], large), 0.0))
    assert codes(answer) == [None, TOO_LARGE]


class Conversation(RuleBasedStateMachine):
    """Whatever happens in whatever order, each call gets exactly one answer while one is there."""

    def __init__(self) -> None:
        super().__init__()
        self.relay, self.now, self.next_id = relay(calls_max=5), 0.0, 0
        self.waiting: set[object] = set()
        self.audited, self.called = 0, 0
        self.at_device: list[object] = []
        self.has_client = self.has_device = True

    def take(self, actions: list[RelayAction]) -> None:
        self.at_device += [each["id"] for each in to_device(actions) if "id" in each]
        self.audited += len(audits(actions))
        for message in to_client(actions):
            for answer in message if isinstance(message, list) else [message]:
                self.waiting.remove(answer["id"])

    @precondition(lambda self: self.has_client)
    @rule(count=st.integers(1, 4), is_batch=st.booleans())
    def ask(self, count: int, is_batch: bool) -> None:
        ids = list(range(self.next_id, self.next_id + (count if is_batch else 1)))
        self.next_id += count
        self.waiting.update(ids)
        self.called += len(ids)
        calls = [call(id_) for id_ in ids]
        self.take(self.relay.from_client(data(calls if is_batch else calls[0]), self.now))

    @precondition(lambda self: self.has_device and self.at_device)
    @rule(choice=st.integers(0, 100))
    def answer(self, choice: int) -> None:
        id_ = self.at_device[choice % len(self.at_device)]  # perhaps for the second time
        self.take(self.relay.from_device(result(id_, 1), self.now))

    @rule(seconds=st.floats(0, 20))
    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.take(self.relay.tick(self.now))
        assert self.relay.deadline is None or self.relay.deadline > self.now

    @precondition(lambda self: self.has_device)
    @rule(chance=st.integers(0, 9))
    def lose_the_device(self, chance: int) -> None:
        if chance == 0:
            self.has_device = False
            self.take(self.relay.device_lost(self.now))
            assert not self.waiting

    @rule()
    def change_the_client(self) -> None:
        if self.has_client:
            self.take(self.relay.client_lost(self.now))
            self.waiting.clear()
        else:
            self.relay.client_came()
        self.has_client = not self.has_client

    @invariant()
    def every_call_is_open_or_audited(self) -> None:
        assert self.called == self.audited + self.relay.open_calls
        assert self.relay.open_calls <= 5

    def teardown(self) -> None:
        self.take(self.relay.tick(self.now + 30))
        assert not self.waiting
        assert self.relay.open_calls == 0


TestConversation = Conversation.TestCase
TestConversation.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
