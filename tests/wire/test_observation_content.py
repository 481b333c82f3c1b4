"""P2: what nodes, outboxes and brokers put into a spool."""

from contextlib import suppress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError, UsageError
from rookery.wire import observation as observations
from rookery.wire import observation_content
from rookery.wire.fleet import telemetry
from rookery.wire.mesh.forward import ROUTE_MAX
from rookery.wire.mesh.record import LINKS_MAX
from rookery.wire.observation import CONTENT_SIZE_MAX, Observation
from rookery.wire.observation_content import (
    PAYLOAD_SIZE_MAX,
    THEME_SIZE_MAX,
    EndedRequest,
    LinkSample,
    Observed,
    ObservedRecordLink,
    ObservedRouteDecision,
    PublishedMessage,
    RecordChange,
)

COUNTS = st.integers(0, 2**63 - 1)
NAMES = st.text(max_size=64)
TEXTS = st.text(max_size=64)  # a whole observation has to fit
RATIOS = st.none() | st.floats(0.0, 1.0)
AMOUNTS = st.none() | st.floats(0.0, 1e15)
NODES = st.lists(st.text(max_size=8), max_size=ROUTE_MAX).map(tuple)
LINKS = st.lists(
    st.builds(ObservedRecordLink, st.text(max_size=8), COUNTS), max_size=LINKS_MAX
).map(tuple)
SOURCE = {"t": COUNTS, "b": COUNTS, "n": COUNTS}

OBSERVED: st.SearchStrategy[Observed] = st.one_of(
    st.builds(
        LinkSample,
        **SOURCE,
        realm=NAMES,
        node=NAMES,
        peer=NAMES,
        path=NAMES,
        rtt_ms=AMOUNTS,
        jitter_ms=AMOUNTS,
        loss_in=RATIOS,
        loss_out=RATIOS,
        rate_kbps=AMOUNTS,
        cost_us=st.none() | COUNTS,
        is_up=st.booleans(),
    ),
    st.builds(
        RecordChange,
        **SOURCE,
        realm=NAMES,
        node=NAMES,
        epoch=COUNTS,
        number=COUNTS,
        lifetime_s=COUNTS,
        links=LINKS,
        is_withdrawn=st.booleans(),
    ),
    st.builds(
        ObservedRouteDecision,
        **SOURCE,
        realm=NAMES,
        source=NAMES,
        destination=NAMES,
        nodes=NODES,
        cost_us=st.none() | COUNTS,
        verdict=NAMES,
        reason=TEXTS,
        candidates=COUNTS,
        previous=NODES,
    ),
    st.builds(
        EndedRequest,
        **SOURCE,
        node=NAMES,
        peer=NAMES,
        number=COUNTS,
        size=COUNTS,
        submitted_at=COUNTS,
        ended_at=COUNTS,
        fate=NAMES,
        attempts=COUNTS,
    ),
    st.builds(
        PublishedMessage,
        **SOURCE,
        theme=TEXTS,
        publisher=NAMES,
        qos=COUNTS,
        size=COUNTS,
        payload=st.none() | st.binary(max_size=PAYLOAD_SIZE_MAX),
    ),
)
HASHNAME = "h" * 52
SAMPLE = LinkSample(t=1, realm="r", node=HASHNAME, peer="p", rtt_ms=1.5, is_up=True)


@given(OBSERVED)
def test_what_was_observed_survives_the_spool_p2(said: Observed) -> None:
    kind = observation_content.KINDS[type(said)]
    record = Observation(
        1, kind, bytes(6), said.b, said.n, observation_content.encode(said)
    ).serialize()
    kept = Observation.parse(record)
    assert observation_content.decode(kept.kind, kept.content) == said


@given(st.sampled_from(sorted(observation_content.STRUCTS)), st.binary(max_size=200))
def test_arbitrary_bytes_are_an_observation_or_raise_decode_error_p2(
    kind: int, data: bytes
) -> None:
    with suppress(DecodeError):
        observation_content.decode(kind, data)


def test_every_kind_has_one_struct_with_boot_and_sequence_p2() -> None:
    fleets = {observations.ENROLLED, observations.SECURITY}
    assert sorted(observation_content.STRUCTS.keys() | fleets) == list(range(1, 12))
    for struct in observation_content.STRUCTS.values():
        assert struct.__struct_fields__[:3] == ("t", "b", "n")


def test_reports_are_read_by_their_kind_p2() -> None:
    report = telemetry.SessionReport(
        t=1, seat="s", who="ann", router="02:00:00:00:00:01", opened_at=1, closed_at=2
    )
    content = telemetry.encode(report)
    assert observation_content.decode(observations.SESSION, content) == report
    with pytest.raises(DecodeError):
        observation_content.decode(observations.CALLED, content)


def test_what_a_newer_version_adds_is_passed_over_p2() -> None:
    known = msgspec.msgpack.decode(observation_content.encode(SAMPLE))
    content = msgspec.msgpack.encode({**known, "novelty": [1, 2]})
    assert observation_content.decode(observations.LINK, content) == SAMPLE


@pytest.mark.parametrize(
    "change",
    [
        {"t": -1},
        {"t": 2**63},
        {"peer": "x" * 65},
        {"rtt_ms": float("nan")},
        {"loss_in": 1.5},
        {"is_up": 1},
        {"cost_us": "dear"},
    ],
    ids=str,
)
def test_values_beyond_their_bounds_are_refused_p2(change: dict[str, object]) -> None:
    known = msgspec.msgpack.decode(observation_content.encode(SAMPLE))
    with pytest.raises(DecodeError):
        observation_content.decode(observations.LINK, msgspec.msgpack.encode({**known, **change}))


@pytest.mark.parametrize("kind", [0, 12, observations.ENROLLED, observations.SECURITY])
def test_kinds_that_are_not_known_here_are_refused_p2(kind: int) -> None:
    with pytest.raises(DecodeError, match=f"of kind {kind} "):
        observation_content.decode(kind, observation_content.encode(SAMPLE))


def test_deep_nesting_and_sizes_beyond_the_bound_are_refused_p2() -> None:
    with pytest.raises(DecodeError):
        observation_content.decode(observations.LINK, b"\x81\xa1x" + b"\x91" * 1100)
    with pytest.raises(DecodeError):
        observation_content.decode(observations.LINK, bytes(CONTENT_SIZE_MAX + 1))


def test_the_largest_of_each_kind_fits_p2() -> None:
    links = tuple(ObservedRecordLink(HASHNAME, 2**32) for _ in range(LINKS_MAX))
    largest = 2**63 - 1
    change = RecordChange(
        t=largest, realm=HASHNAME, node=HASHNAME, epoch=largest, number=largest, links=links
    )
    nodes = (HASHNAME,) * ROUTE_MAX
    decision = ObservedRouteDecision(
        t=largest,
        realm=HASHNAME,
        source=HASHNAME,
        destination=HASHNAME,
        nodes=nodes,
        verdict="changed",
        reason="r" * 256,
        previous=nodes,
    )
    message = PublishedMessage(
        t=largest,
        theme="t" * THEME_SIZE_MAX,
        publisher=HASHNAME,
        size=largest,
        payload=bytes(PAYLOAD_SIZE_MAX),
    )
    for said in (change, decision, message):
        assert (
            observation_content.decode(
                observation_content.KINDS[type(said)], observation_content.encode(said)
            )
            == said
        )


def test_what_does_not_fit_is_our_own_mistake_p2() -> None:
    with pytest.raises(UsageError, match="4096 are allowed"):
        observation_content.encode(msgspec.structs.replace(SAMPLE, path="x" * 5000))
