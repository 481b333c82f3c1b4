"""Explanations for people and for programs (R13)."""

import msgspec
import pytest

from rookery.mesh.routing.graph import AVOIDED_US
from rookery.mesh.routing.route import Route, RoutePolicy
from rookery.mesh.routing.route_explanation import (
    CONTRADICTED,
    SILENT,
    PreviousRoute,
    RouteCandidate,
    RouteExplanation,
    RouteRemark,
    RouteVerdict,
    with_spares,
)
from rookery.wire.mesh.node_id import NodeId
from tests.mesh.graphs import nodes

A, B, C, D = nodes(1, 2, 3, 4)
NAMES = {A: "ada", B: "bob", C: "cy", D: "dot"}
DETOUR = Route((A, B, D), (5000, 7200))
DIRECT = Route((A, D), (18_000,))


def name(which: NodeId) -> str:
    return NAMES[which]


def explanation(
    *candidates: RouteCandidate, previous: PreviousRoute | None = None
) -> RouteExplanation:
    return RouteExplanation(A, D, 12.5, RoutePolicy(), candidates, previous)


def test_people_read_routes_costs_and_reasons() -> None:
    told = explanation(
        RouteCandidate(DETOUR, RouteVerdict.CHEAPEST),
        RouteCandidate(DIRECT, RouteVerdict.DETOUR_CLEARLY_CHEAPER, 0.678),
        previous=PreviousRoute(DIRECT, 3.0, (19_000,)),
    )
    assert told.lines(name) == [
        "to dot: ada – bob – dot",
        "* ada – bob – dot  12.2 ms = 5.0 + 7.2",
        "      chosen: the cheapest",
        "  ada – dot  18.0 ms",
        "      lost: the detour costs 0.68 × this, below 0.8",
        "before: ada – dot, 18.0 ms; since then: ada – dot 18.0 → 19.0",
        "rules: a direct link counts 0.8 of its cost; the route in use stays up to 1.05 × the "
        "best; at most 16 hops",
    ]


@pytest.mark.parametrize(
    ("verdict", "reason"),
    [
        (RouteVerdict.CHEAPEST, "chosen: the cheapest"),
        (RouteVerdict.DIRECT, "chosen: the direct link; no detour costs less than 0.8 × it"),
        (RouteVerdict.HELD, "chosen: in use, and still within 1.05 × the best"),
        (RouteVerdict.SPARE, "spare: shares no node with the routes above"),
        (
            RouteVerdict.SPARE_SHARING_NODES,
            "spare: shares no link with the routes above, but bob – dot",
        ),
        (RouteVerdict.DEARER, "lost: costs 1.31 × the chosen one"),
        (RouteVerdict.NOT_CLEARLY_CHEAPER, "lost: costs 1.31 × the direct link, not below 0.8"),
        (RouteVerdict.DETOUR_CLEARLY_CHEAPER, "lost: the detour costs 1.31 × this, below 0.8"),
        (RouteVerdict.WITHIN_HOLD, "lost: the one in use counts 1.31 × this, within 1.05"),
        (RouteVerdict.LET_GO, "lost: was in use, now counts 1.31 × the best, above 1.05"),
        (RouteVerdict.GONE, "gone: was in use, but bob – dot no longer carries it"),
        (RouteVerdict.TOO_LONG, "lost: 2 hops, more than 16"),
        (RouteVerdict.ONE_SIDED, "does not count: bob – dot is claimed by one side only"),
        (RouteVerdict.NO_RELAY, "does not count: bob – dot may not relay"),
        (RouteVerdict.AVOIDED, "put off: bob – dot failed a packet lately"),
    ],
)
def test_every_verdict_has_its_reason(verdict: RouteVerdict, reason: str) -> None:
    told = explanation(RouteCandidate(DETOUR, verdict, 1.31, ((B, D),)))
    assert told.lines(name)[2].strip() == reason
    assert (told.chosen is not None) == reason.startswith("chosen")


def test_a_loser_that_stands_by_is_told_of_once() -> None:
    loser = RouteCandidate(DIRECT, RouteVerdict.DETOUR_CLEARLY_CHEAPER, 0.678)
    spare = RouteCandidate(DIRECT, RouteVerdict.SPARE, stands_by=True)
    other = RouteCandidate(Route((A, C, D), (9000, 9000)), RouteVerdict.SPARE, stands_by=True)
    told = explanation(
        *with_spares((RouteCandidate(DETOUR, RouteVerdict.CHEAPEST), loser), (spare, other))
    )
    assert told.lines(name)[3:-1] == [
        "  ada – dot  18.0 ms",
        "      lost: the detour costs 0.68 × this, below 0.8; stands by as a spare",
        "  ada – cy – dot  18.0 ms = 9.0 + 9.0",
        "      spare: shares no node with the routes above",
    ]


def test_without_a_route_it_says_so() -> None:
    assert explanation().lines(name)[0] == "to dot: no route; nothing that counts leads there"
    unknown = msgspec.structs.replace(explanation(), is_known=False)
    assert unknown.lines(name)[0] == "to dot: no route; it has no link that we know of"


def test_what_was_before_is_told_hop_by_hop() -> None:
    gone = explanation(previous=PreviousRoute(DETOUR, 3.0, (5000, None)))
    assert gone.lines(name)[1] == (
        "before: ada – bob – dot, 12.2 ms = 5.0 + 7.2; since then: bob – dot 7.2 → gone"
    )
    same = explanation(previous=PreviousRoute(DIRECT, 3.0, (18_000,)))
    assert same.lines(name)[1].endswith("since then: none of its links changed")


def test_an_avoided_link_shows_its_own_cost() -> None:
    route = Route((A, B, D), (5000, AVOIDED_US + 7200))
    told = explanation(RouteCandidate(route, RouteVerdict.CHEAPEST))
    assert told.lines(name)[1] == "* ada – bob – dot  12.2 ms = 5.0 + 7.2 (avoided)"


def test_programs_read_json() -> None:
    told = explanation(
        RouteCandidate(DIRECT, RouteVerdict.GONE, None, ((A, D),)),
        previous=PreviousRoute(DIRECT, 3.0, (None,)),
    )
    assert msgspec.json.decode(msgspec.json.encode(told.json(name))) == {
        "source": "ada",
        "destination": "dot",
        "known": True,
        "at_s": 12.5,
        "policy": {"detour_factor": 0.8, "hold_factor": 1.05, "disjoint_max": 3, "hop_max": 16},
        "candidates": [
            {
                "nodes": ["ada", "dot"],
                "costs_us": [18_000],
                "cost_us": 18_000,
                "verdict": "gone",
                "chosen": False,
                "spare": False,
                "ratio": None,
                "culprits": [["ada", "dot"]],
                "reason": "gone: was in use, but ada – dot no longer carries it",
            }
        ],
        "previous": {
            "nodes": ["ada", "dot"],
            "costs_us": [18_000],
            "costs_now_us": [None],
            "at_s": 3.0,
        },
        "remarks": [],
    }
    assert explanation().json()["destination"] == D.hex()


def test_what_else_is_known_is_told_of_those_it_concerns() -> None:
    """R13: a candidate's nodes and the destination, nobody else."""
    about = explanation(RouteCandidate(DETOUR, RouteVerdict.CHEAPEST))
    assert [about.concerns(node) for node in (A, B, D, b"somebody")] == [True, True, True, False]
    told = about.with_remarks([RouteRemark((B,), CONTRADICTED), RouteRemark(DETOUR.nodes, SILENT)])
    assert f"note: bob {CONTRADICTED}" in told.lines(name)
    assert told.json(name)["remarks"] == [
        {"nodes": ["bob"], "text": CONTRADICTED},
        {"nodes": ["ada", "bob", "dot"], "text": SILENT},
    ]
    assert explanation().concerns(D)


def test_one_line_says_why_there_is_another_route_p2() -> None:
    chosen = RouteCandidate(DETOUR, RouteVerdict.CHEAPEST)
    gone = RouteCandidate(DIRECT, RouteVerdict.GONE, culprits=((A, D),))
    assert explanation(chosen).account(name) == "chosen: the cheapest"
    told = explanation(chosen, gone, previous=PreviousRoute(DIRECT, 3.0, (None,)))
    assert told.account(name) == "gone: was in use, but ada – dot no longer carries it"
    assert explanation().account(name) == "nothing leads there"
