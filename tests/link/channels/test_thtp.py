"""The `thtp` channel: heads, their checks, and reading them as they come (T3)."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError, ProtocolError, RemoteError, UsageError
from rookery.link.channels.thtp import PATH_SIZE_MAX, RequestHead, ResponseHead, ThtpParser
from rookery.wire.link.lob import HEAD_SIZE_MAX, JsonObject, Packet

names = st.from_regex(r"x-[a-z0-9]{1,12}", fullmatch=True)
values = st.from_regex(r"[!-~\xa1-\xff]([ -~]{0,20}[!-~])?", fullmatch=True)
requests = st.builds(
    lambda method, path, headers: RequestHead.of(method, path, headers.items()),
    st.sampled_from(["GET", "POST", "PROPFIND", "X-Y"]),
    st.from_regex(r"/[!-~]{0,80}", fullmatch=True),
    st.dictionaries(names, values, max_size=5),
)
json_values = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=20)
    | st.lists(st.text(max_size=5) | st.integers(), max_size=3)
    | st.dictionaries(st.text(max_size=3), st.integers(), max_size=2)
)
json_heads = st.dictionaries(
    st.sampled_from([":method", ":path", ":status", ":reason", "host", "connection"])
    | st.text(max_size=8),
    json_values,
    max_size=6,
)


def slices(data: bytes, cuts: list[int]) -> list[bytes]:
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    return [data[start:stop] for start, stop in pairwise(edges)]


@given(requests, st.binary(max_size=3000), st.lists(st.integers(0, 4000), max_size=12))
def test_any_cutting_of_any_request_reassembles(
    head: RequestHead, body: bytes, cuts: list[int]
) -> None:
    parser = ThtpParser(RequestHead.parse)
    received = b"".join(parser.feed(piece) for piece in slices(head.serialize() + body, cuts))
    parser.finish()
    assert (parser.head, received) == (head, body)


@given(st.lists(st.binary(max_size=300), max_size=8))
def test_arbitrary_bytes_parse_or_raise_a_remote_error(data: list[bytes]) -> None:
    for parse in (RequestHead.parse, ResponseHead.parse):
        parser = ThtpParser[RequestHead | ResponseHead](parse)
        try:
            for piece in data:
                parser.feed(piece)
            parser.finish()
        except RemoteError:
            continue
        assert parser.head is not None


@given(json_heads)
def test_hostile_heads_parse_to_what_can_be_sent_again_or_raise(json: JsonObject) -> None:
    for parse in (RequestHead.parse, ResponseHead.parse):
        try:
            head: RequestHead | ResponseHead = parse(json)
        except ProtocolError:
            continue
        again = Packet.parse(head.serialize()).json
        assert {name: value for name, value in again.items() if name[0] != ":"}.keys() == {
            name for name, _ in head.headers
        }


def test_the_head_is_known_before_the_body_is() -> None:
    """So that bodies stream, whatever their length."""
    parser = ThtpParser(ResponseHead.parse)
    data = ResponseHead.of(200, [("content-type", "text/plain")]).serialize()
    assert parser.feed(data[:-1]) == b""
    assert parser.head is None
    assert parser.feed(data[-1:] + b"hel") == b"hel"
    assert parser.head == ResponseHead(200, (("content-type", "text/plain"),))
    assert parser.feed(b"lo") == b"lo"


def test_messages_of_the_public_javascript_peer_are_read() -> None:
    """The two heads captured from it (T7)."""
    request, response = ThtpParser(RequestHead.parse), ThtpParser(ResponseHead.parse)
    request.feed(Packet.of({":method": "GET", ":path": "/vector"}).serialize())
    answer = Packet.of({":status": 200, "content-type": "text/plain"}).serialize()
    assert response.feed(answer) + response.feed(b"hello /vector") == b"hello /vector"
    assert request.head == RequestHead("GET", "/vector")
    assert response.head == ResponseHead(200, (("content-type", "text/plain"),))


def test_header_names_are_lower_case_on_the_wire() -> None:
    head = RequestHead.of("get", "/", [("Content-Type", " text/plain\t")])
    assert Packet.parse(head.serialize()).json == {
        ":method": "GET",
        ":path": "/",
        "content-type": "text/plain",
    }


def test_hop_by_hop_headers_stay_on_their_hop() -> None:
    fields = {
        "connection": "close, X-Private",
        "x-private": "1",
        "transfer-encoding": "chunked",
        "upgrade": "h2c",
        "accept": "*/*",
    }
    assert RequestHead.of("GET", "/", fields.items()).headers == (("accept", "*/*"),)
    parsed = RequestHead.parse({":method": "GET", ":path": "/", **fields})
    assert parsed.headers == (("accept", "*/*"),)


def test_repeated_headers_are_joined_except_set_cookie() -> None:
    pairs = [("vary", "a"), ("set-cookie", "x=1"), ("vary", "b"), ("set-cookie", "y=2, z")]
    json = Packet.parse(
        ResponseHead.of(200, [*pairs, ("cookie", "a"), ("cookie", "b")]).serialize()
    )
    assert json.json == {
        ":status": 200,
        "vary": "a, b",
        "set-cookie": ["x=1", "y=2, z"],
        "cookie": "a; b",
    }
    assert ResponseHead.parse(json.json).headers == (
        ("vary", "a, b"),
        ("set-cookie", "x=1"),
        ("set-cookie", "y=2, z"),
        ("cookie", "a; b"),
    )


def test_numbers_are_taken_where_javascript_writes_them() -> None:
    head = ResponseHead.parse({":status": "404", ":reason": "Nope", "content-length": 5})
    assert head == ResponseHead(404, (("content-length", "5"),), "Nope")


def test_a_reason_is_sent_when_there_is_one_and_forgotten_when_unprintable() -> None:
    assert Packet.parse(ResponseHead.of(200, reason="Fine").serialize()).json[":reason"] == "Fine"
    assert ResponseHead.parse({":status": 200, ":reason": "a\r\nb"}).reason == ""
    assert ResponseHead.parse({":status": 200, ":reason": 7}).reason == ""


def test_an_absent_path_is_the_root_and_unknown_pseudo_headers_are_ignored() -> None:
    assert RequestHead.parse({":method": "OPTIONS", ":new": 1}) == RequestHead("OPTIONS", "/")


def test_a_peer_cannot_pretend_to_be_another() -> None:
    head = RequestHead.parse({":method": "GET", ":path": "/", "X-Hashname": "mallory"})
    assert head.from_peer("alice").headers == (("x-hashname", "alice"),)


@pytest.mark.parametrize(
    ("json", "what"),
    [
        ({":path": "/"}, "method"),
        ({":method": 1, ":path": "/"}, "method"),
        ({":method": "", ":path": "/"}, "method"),
        ({":method": "GET /", ":path": "/"}, "method"),
        ({":method": "G" * 33, ":path": "/"}, "method"),
        ({":method": "GET", ":path": "x"}, "path"),
        ({":method": "GET", ":path": None}, "path"),
        ({":method": "GET", ":path": "/a b"}, "path"),
        ({":method": "GET", ":path": "/a\r\nhost: b"}, "path"),
        ({":method": "GET", ":path": "/" + "x" * PATH_SIZE_MAX}, "path"),
        ({":method": "GET", "": "x"}, "header name"),
        ({":method": "GET", "a b": "x"}, "header name"),
        ({":method": "GET", "é": "x"}, "header name"),
        ({":method": "GET", "a": "x\r\ny: z"}, "header value"),
        ({":method": "GET", "a": "\u20ac"}, "header value"),
        ({":method": "GET", "a": True}, "header value"),
        ({":method": "GET", "a": None}, "header value"),
        ({":method": "GET", "a": 10**300}, "header value"),
        ({":method": "GET", "a": ["x", {}]}, "header value"),
    ],
)
def test_a_request_that_http_cannot_mean_is_refused(json: JsonObject, what: str) -> None:
    with pytest.raises(ProtocolError, match=f"invalid {what}"):
        RequestHead.parse(json)


@pytest.mark.parametrize("status", [None, 99, 100, 101, 199, 600, True, "20x", 200.0, 10**300])
def test_a_response_without_a_final_status_is_refused(status: object) -> None:
    with pytest.raises(ProtocolError, match="invalid status"):
        ResponseHead.parse({":status": status})


@pytest.mark.parametrize("size", [0, 1, 6, HEAD_SIZE_MAX + 1, 0xFFFF])
def test_the_head_size_is_judged_before_the_head_arrives(size: int) -> None:
    with pytest.raises(DecodeError, match="a head of"):
        ThtpParser(RequestHead.parse).feed(size.to_bytes(2, "big"))


def test_an_end_before_the_head_is_an_error() -> None:
    parser = ThtpParser(RequestHead.parse)
    parser.feed(b"\x00")
    with pytest.raises(DecodeError, match="before the head"):
        parser.finish()


def test_our_own_mistakes_are_usage_errors() -> None:
    with pytest.raises(UsageError, match="invalid path"):
        RequestHead.of("GET", "http://example.org/")
    with pytest.raises(UsageError, match="invalid status"):
        ResponseHead.of(101)
    with pytest.raises(UsageError, match="exceeds"):
        ResponseHead.of(200, [("a", "x" * HEAD_SIZE_MAX)]).serialize()
