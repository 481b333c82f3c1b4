"""The side that has the methods, by the letter of JSON-RPC 2.0 (F11)."""

import asyncio
import json
from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rookery.errors import DeniedError, UnreachableError, UsageError
from rookery.fleet.rpc.dispatcher import METHODS_MAX, Dispatcher, Handler
from rookery.fleet.rpc.message import BATCH_MAX, DENIED, MESSAGE_SIZE_MAX, RpcError

PARSE_ERROR = {
    "jsonrpc": "2.0",
    "error": {"code": -32700, "message": "Parse error"},
    "id": None,
}
INVALID = {"jsonrpc": "2.0", "error": {"code": -32600, "message": "Invalid Request"}, "id": None}

# The table of examples at the end of the specification, in its order.
EXAMPLES: list[tuple[str, object]] = [
    (
        '{"jsonrpc": "2.0", "method": "subtract", "params": [42, 23], "id": 1}',
        {"jsonrpc": "2.0", "result": 19, "id": 1},
    ),
    (
        '{"jsonrpc": "2.0", "method": "subtract", "params": [23, 42], "id": 2}',
        {"jsonrpc": "2.0", "result": -19, "id": 2},
    ),
    (
        '{"jsonrpc": "2.0", "method": "subtract", '
        '"params": {"subtrahend": 23, "minuend": 42}, "id": 3}',
        {"jsonrpc": "2.0", "result": 19, "id": 3},
    ),
    (
        '{"jsonrpc": "2.0", "method": "subtract", '
        '"params": {"minuend": 42, "subtrahend": 23}, "id": 4}',
        {"jsonrpc": "2.0", "result": 19, "id": 4},
    ),
    ('{"jsonrpc": "2.0", "method": "update", "params": [1,2,3,4,5]}', None),
    ('{"jsonrpc": "2.0", "method": "foobar"}', None),
    (
        '{"jsonrpc": "2.0", "method": "foobar", "id": "1"}',
        {"jsonrpc": "2.0", "error": {"code": -32601, "message": "Method not found"}, "id": "1"},
    ),
    ('{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]', PARSE_ERROR),
    ('{"jsonrpc": "2.0", "method": 1, "params": "bar"}', INVALID),
    (
        '[{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},'
        '{"jsonrpc": "2.0", "method"]',
        PARSE_ERROR,
    ),
    ("[]", INVALID),
    ("[1]", [INVALID]),
    ("[1,2,3]", [INVALID, INVALID, INVALID]),
    (
        '[{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},'
        '{"jsonrpc": "2.0", "method": "notify_hello", "params": [7]},'
        '{"jsonrpc": "2.0", "method": "subtract", "params": [42,23], "id": "2"},'
        '{"foo": "boo"},'
        '{"jsonrpc": "2.0", "method": "foo.get", "params": {"name": "myself"}, "id": "5"},'
        '{"jsonrpc": "2.0", "method": "get_data", "id": "9"}]',
        [
            {"jsonrpc": "2.0", "result": 7, "id": "1"},
            {"jsonrpc": "2.0", "result": 19, "id": "2"},
            INVALID,
            {"jsonrpc": "2.0", "error": {"code": -32601, "message": "Method not found"}, "id": "5"},
            {"jsonrpc": "2.0", "result": ["hello", 5], "id": "9"},
        ],
    ),
    (
        '[{"jsonrpc": "2.0", "method": "notify_sum", "params": [1,2,4]},'
        '{"jsonrpc": "2.0", "method": "notify_hello", "params": [7]}]',
        None,
    ),
]


class Reading(msgspec.Struct):
    celsius: float


async def subtract(minuend: int, subtrahend: int) -> int:
    """Take one from the other.

    Only this much and no more.
    """
    return minuend - subtrahend


def summed(one: int, two: int, three: int) -> int:
    return one + two + three


def data() -> tuple[str, int]:
    return "hello", 5


def temperature(sensor: str = "cpu", *, history: list[Reading] | None = None) -> Reading:
    return Reading(0.5 * len(sensor) + len(history or ()))


def dispatcher() -> Dispatcher:
    methods: dict[str, Handler] = {
        "subtract": subtract,
        "sum": summed,
        "notify_sum": summed,
        "get_data": data,
        "temperature": temperature,
    }
    return Dispatcher(methods, title="shed", version="7")


def answer(message: str | bytes, to: Dispatcher | None = None) -> object:
    data = message.encode() if isinstance(message, str) else message
    answer = asyncio.run((to or dispatcher()).dispatch(data))
    return None if answer is None else json.loads(answer)


def called(to: Dispatcher, method: str, params: object = None) -> object:
    fields = {"jsonrpc": "2.0", "method": method, "id": 1}
    return answer(json.dumps(fields if params is None else {**fields, "params": params}), to)


def error_of(answered: object) -> dict[str, object]:
    assert isinstance(answered, dict)
    error = answered["error"]
    assert isinstance(error, dict)
    return error


@pytest.mark.parametrize(("sent", "answered"), EXAMPLES)
def test_f11_answers_as_the_examples_of_the_specification(sent: str, answered: object) -> None:
    assert answer(sent) == answered


@pytest.mark.parametrize(
    "id_", ['"x"', "null", "0", "-7", "1.50", "1e2", "123456789012345678901234567890", '"\\u00e9"']
)
def test_the_id_comes_back_as_it_was(id_: str) -> None:
    message = f'{{"jsonrpc":"2.0","method":"get_data","id":{id_}}}'
    answered = asyncio.run(dispatcher().dispatch(message.encode()))
    assert answered == f'{{"jsonrpc":"2.0","result":["hello",5],"id":{id_}}}'.encode()


@pytest.mark.parametrize("id_", ["true", "false", "[]", "{}", "[1]", f'"{"x" * 1100}"'])
def test_what_cannot_be_an_id_is_answered_with_null(id_: str) -> None:
    assert answer(f'{{"jsonrpc":"2.0","method":"get_data","id":{id_}}}') == INVALID


@pytest.mark.parametrize(
    "fields",
    [
        '"method":"get_data"',
        '"jsonrpc":"1.0","method":"get_data"',
        '"jsonrpc":2.0,"method":"get_data"',
        '"jsonrpc":null,"method":"get_data"',
        '"jsonrpc":"2.0"',
        '"jsonrpc":"2.0","method":null',
        '"jsonrpc":"2.0","method":["get_data"]',
        '"jsonrpc":"2.0","method":"get_data","params":null',
        '"jsonrpc":"2.0","method":"get_data","params":"x"',
        '"jsonrpc":"2.0","method":"get_data","params":0',
        '"jsonrpc":"2.0","result":1',
        f'"jsonrpc":"2.0","method":"{"m" * 257}"',
    ],
)
def test_an_invalid_request_keeps_an_id_that_can_be_made_out(fields: str) -> None:
    assert answer(f'{{{fields},"id":5}}') == INVALID | {"id": 5}


def test_escapes_mean_what_they_stand_for() -> None:
    sent = '{"jsonrpc":"2\\u002e0","method":"\\u0073um","params":[1,2,3],"id":1,"more":{}}'
    assert answer(sent) == {"jsonrpc": "2.0", "result": 6, "id": 1}


@pytest.mark.parametrize(
    "params",
    [[1], [1, 2, 3], ["1", 2], [1.5, 2], {"minuend": 1}, {"a": 1}, [], [1, None], [True, 1]],
)
def test_parameters_that_do_not_fit_the_signature_are_refused(params: object) -> None:
    error = error_of(called(dispatcher(), "subtract", params))
    assert (error["code"], error["message"]) == (-32602, "Invalid params")
    assert error["data"]


def test_what_may_be_left_out_may_be_left_out() -> None:
    def result(params: object = None) -> object:
        answered = called(dispatcher(), "temperature", params)
        assert isinstance(answered, dict)
        return answered["result"]

    assert result() == result([]) == result({}) == {"celsius": 1.5}
    assert result(["case"]) == result({"sensor": "case"}) == {"celsius": 2.0}
    assert result({"history": [{"celsius": 1}]}) == {"celsius": 2.5}
    assert result({"history": None}) == {"celsius": 1.5}


def test_errors_of_methods_become_answers() -> None:
    crashes: list[tuple[str, Exception]] = []
    served = Dispatcher(crashed=lambda method, error: crashes.append((method, error)))

    @served.method("own")
    def own() -> None:
        raise RpcError(DENIED, data={"rule": 7})

    @served.method("ours")
    async def ours() -> None:
        raise DeniedError("not on Sundays")

    @served.method("away")
    async def away() -> None:
        raise UnreachableError("nobody is there")

    @served.method("broken")
    def broken() -> int:
        return 1 // 0

    @served.method("strange")
    def strange() -> object:
        return object()

    assert error_of(called(served, "own")) == {
        "code": -32004,
        "message": "Denied",
        "data": {"rule": 7},
    }
    assert error_of(called(served, "ours")) == {
        "code": -32004,
        "message": "Denied",
        "data": "not on Sundays",
    }
    assert error_of(called(served, "away")) == {
        "code": -32005,
        "message": "Failed",
        "data": "nobody is there",
    }
    internal = {"code": -32603, "message": "Internal error"}
    assert error_of(called(served, "broken")) == error_of(called(served, "strange")) == internal
    assert [method for method, _ in crashes] == ["broken", "strange"]
    assert isinstance(crashes[0][1], ZeroDivisionError)
    assert answer('{"jsonrpc":"2.0","method":"broken"}', served) is None
    quiet = Dispatcher({"broken": broken})
    assert error_of(called(quiet, "broken")) == internal


def test_a_notification_is_carried_out() -> None:
    lines: list[str] = []

    async def note(line: str) -> None:
        lines.append(line)

    served = Dispatcher({"note": note})
    assert answer('{"jsonrpc":"2.0","method":"note","params":["a"]}', served) is None
    assert answer('{"jsonrpc":"2.0","method":"note","params":[1]}', served) is None
    assert lines == ["a"]


def test_messages_and_batches_have_bounds() -> None:
    note = '{"jsonrpc":"2.0","method":"x"}'
    assert answer(f"[{','.join([note] * BATCH_MAX)}]") is None
    assert error_of(answer(f"[{','.join([note] * (BATCH_MAX + 1))}]")) == {
        "code": -32600,
        "message": "Invalid Request",
        "data": "more than 100 in a batch",
    }
    padded = note + " " * (MESSAGE_SIZE_MAX - len(note))
    assert answer(padded) is None
    assert error_of(answer(padded + " "))["data"] == "more than 1048576 bytes"


def deep(levels: int) -> str:
    """A call nested that deep in all; brackets inside strings are none."""
    inner = "[" * (levels - 1) + '"[[\\"[["' + "]" * (levels - 1)
    return f'{{"jsonrpc":"2.0","method":"get_data","id":1,"more":{inner}}}'


def test_nesting_has_a_bound() -> None:
    assert answer(deep(64)) == {"jsonrpc": "2.0", "result": ["hello", 5], "id": 1}
    for levels in (65, 500, 3000, 300_000):
        assert error_of(answer(deep(levels)))["data"] == "nested more than 64 deep"


def test_an_answer_that_fits_no_message_becomes_an_error() -> None:
    served = Dispatcher()

    @served.method("fill")
    def fill(size: int) -> str:
        return "x" * size

    room = MESSAGE_SIZE_MAX - len(b'{"jsonrpc":"2.0","result":"","id":1}')
    assert error_of(called(served, "fill", [room + 1]))["code"] == -32003
    assert "result" in json.loads(json.dumps(called(served, "fill", [room])))
    half = f'{{"jsonrpc":"2.0","method":"fill","params":[{MESSAGE_SIZE_MAX // 2}],"id":1}}'
    answers = answer(f"[{half},{half},{half}]", served)
    assert isinstance(answers, list)
    assert ["error" in each for each in answers] == [False, True, True]


@pytest.mark.parametrize(("size", "fitting"), [(MESSAGE_SIZE_MAX - 120_000, 1), (1_040_000, 0)])
def test_even_a_batch_of_errors_fits_a_message(size: int, fitting: int) -> None:
    served = Dispatcher()

    @served.method("fill")
    def fill(size: int) -> str:
        return "x" * size

    call = f'{{"jsonrpc":"2.0","method":"fill","params":[{size}],"id":"{"i" * 1022}"}}'
    whole = asyncio.run(served.dispatch(f"[{','.join([call] * BATCH_MAX)}]".encode()))
    assert whole is not None
    assert len(whole) <= MESSAGE_SIZE_MAX
    results = ["result" in each for each in json.loads(whole)]
    assert results == [True] * fitting + [False] * (BATCH_MAX - fitting)


def test_names_are_taken_once_and_the_reserved_ones_never() -> None:
    served = dispatcher()
    assert sorted(served.names) == ["get_data", "notify_sum", "subtract", "sum", "temperature"]
    for name in ("sum", "rpc.sum", "", "m" * 257):
        with pytest.raises(UsageError):
            served.add(name, summed)
    full = Dispatcher({f"m{number}": data for number in range(METHODS_MAX)})
    with pytest.raises(UsageError):
        full.add("more", data)


def test_f11_discover_tells_every_method_with_its_schemas() -> None:
    answered = called(dispatcher(), "rpc.discover")
    assert isinstance(answered, dict)
    document = answered["result"]
    assert document["openrpc"] == "1.3.2"
    assert document["info"] == {"title": "shed", "version": "7"}
    methods = {method["name"]: method for method in document["methods"]}
    assert list(methods) == ["subtract", "sum", "notify_sum", "get_data", "temperature"]
    assert methods["subtract"] == {
        "name": "subtract",
        "summary": "Take one from the other.",
        "params": [
            {"name": "minuend", "required": True, "schema": {"type": "integer"}},
            {"name": "subtrahend", "required": True, "schema": {"type": "integer"}},
        ],
        "paramStructure": "either",
        "result": {"name": "result", "schema": {"type": "integer"}},
    }
    assert methods["temperature"]["result"]["schema"] == {"$ref": "#/components/schemas/Reading"}
    assert [each["required"] for each in methods["temperature"]["params"]] == [False, False]
    assert document["components"]["schemas"]["Reading"]["required"] == ["celsius"]


# Arbitrary messages, and the answers that the specification leaves no choice about.

IDS: st.SearchStrategy[object] = (
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text(max_size=5) | st.just([])
)
VALUES = st.recursive(
    IDS | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)
REQUESTS = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | st.sampled_from(["1.0", 2.0, None]),
        "method": st.sampled_from(["echo", "nothing", "", "rpc.nothing"]) | VALUES,
        "params": VALUES,
        "id": IDS,
    },
)
MESSAGES = REQUESTS | st.lists(REQUESTS | VALUES, max_size=4) | VALUES


def echo(value: object = None) -> object:
    return value


def expected(message: object) -> object:
    if not isinstance(message, list):
        return next(expected_of(message), None)
    if not message:
        return failure(None, -32600)
    answers = [each for item in message for each in expected_of(item)]
    return answers or None


def expected_of(item: object) -> Iterator[object]:
    id_ = item.get("id") if isinstance(item, dict) else None
    is_id = id_ is None or (isinstance(id_, str | int | float) and not isinstance(id_, bool))
    if (
        not isinstance(item, dict)
        or not is_id
        or item.get("jsonrpc") != "2.0"
        or not isinstance(item.get("method"), str)
        or not isinstance(item.get("params", []), list | dict)
    ):
        yield failure(id_ if is_id else None, -32600)
    elif "id" in item and item["method"] != "echo":
        yield failure(id_, -32601)
    elif "id" in item:
        params = item.get("params", [])
        if isinstance(params, list) and len(params) < 2:
            yield {"jsonrpc": "2.0", "result": params[0] if params else None, "id": id_}
        elif isinstance(params, dict) and set(params) <= {"value"}:
            yield {"jsonrpc": "2.0", "result": params.get("value"), "id": id_}
        else:
            yield failure(id_, -32602)


def failure(id_: object, code: int) -> object:
    return {"jsonrpc": "2.0", "error": code, "id": id_}


def without_texts(answered: object) -> object:
    if isinstance(answered, list):
        return [without_texts(each) for each in answered]
    if isinstance(answered, dict) and "error" in answered:
        return answered | {"error": answered["error"]["code"]}
    return answered


@given(MESSAGES)
def test_any_message_is_answered_as_specified(message: object) -> None:
    answered = answer(json.dumps(message), Dispatcher({"echo": echo}))
    assert without_texts(answered) == expected(message)


@given(
    st.binary(max_size=300) | st.text(alphabet='[]{}",:\\0123456789e.-ntrufals ').map(str.encode)
)
@example(b"\xef\xbb\xbf[]")
@example(b'"\\ud800"')
@example(b'{"a":"\xff"}')
@example(b"1e999")
def test_arbitrary_bytes_are_answered_as_specified(data: bytes) -> None:
    answered = answer(data, Dispatcher({"echo": echo}))
    try:
        message = json.loads(data.decode(), parse_constant=refuse)
        json.dumps(message, ensure_ascii=False).encode()  # half a surrogate pair is no text
    except ValueError:
        assert answered == PARSE_ERROR
    else:
        assert without_texts(answered) == expected(message)


def refuse(constant: str) -> None:
    raise ValueError(constant)
