"""P5: what the lake learned from earlier nights keeps packets off a link before it fades.

Virtual time, real cores, one published seed; `fading` says what of the two weeks is simulated.
"""

from collections.abc import Callable
from contextlib import suppress
from random import Random

import pytest

from rookery.errors import RemoteError
from rookery.identity.artifact import seal
from rookery.identity.identity import Identity
from rookery.wire.mesh.advice import Advice, AdviceWindow, LinkAdvice
from tests.mesh_sim.fading import (
    BEFORE_S,
    DAYS_MIN,
    HOUR_S,
    NIGHTS,
    RING,
    TARGET,
    Night,
    Sample,
    advice_from,
)

LAKE = Identity.generate((0x40, 0x3A), Random(1).randbytes)
MALLORY = Identity.generate((0x40, 0x3A), Random(2).randbytes)
TRUSTED = frozenset({LAKE.hashname})
OVER_1, OVER_3 = [0, 1, 2], [0, 3, 2]


def sealed(advice: Advice, night: Night, by: Identity = LAKE, *, lasts_s: int = 7200) -> bytes:
    issued_ms = night.unix_s * 1000
    return seal(advice, by, issued_ms=issued_ms, expires_ms=issued_ms + lasts_s * 1000)


def against(night: Night, *links: tuple[int, int], realm: bytes | None = None) -> Advice:
    """These links will be twice as bad, for the next hours."""
    window = AdviceWindow(night.unix_s * 1000, (night.unix_s + 3 * HOUR_S) * 1000, 2.0, 1.0)
    advised = []
    for one, other in links:
        a, b = sorted((night.hashname(one), night.hashname(other)))
        advised.append(LinkAdvice(realm or night.world.realm.id, a, b, (window,)))
    return Advice(tuple(advised))


def test_advice_from_earlier_nights_halves_what_a_nightly_fade_costs() -> None:
    """P5: the same fades, with and without; each night knows the samples of those before it."""
    reactive, advised, silent = [], [], 0
    samples: list[Sample] = []
    for number in range(NIGHTS):
        night = Night(number)
        hour = int(night.unix_s + BEFORE_S) // HOUR_S
        advice = advice_from(samples, night.world.realm.id, hour)
        night.heed(sealed(advice, night), TRUSTED)
        advised.append(night.run().lost)
        silent += not advice.links  # nothing is said: the same run again would be the same
        reactive.append(Night(number).run().lost if advice.links else advised[-1])
        samples += night.samples
    assert silent == DAYS_MIN
    assert min(reactive) > 0, "every fade hurts those who only react"
    assert sum(advised) <= sum(reactive) / 2, (reactive, advised)
    assert sum(advised[silent:]) <= sum(reactive[silent:]) / 4, (reactive, advised)


def ignored(night: Night, artifact: bytes | None) -> None:
    with suppress(RemoteError):
        night.heed(artifact, TRUSTED)


def _deleted(night: Night) -> None:
    night.heed(sealed(against(night, (1, 2)), night), TRUSTED)
    night.heed(None, TRUSTED)


def _stale(night: Night) -> None:
    issued_ms = (night.unix_s - 2 * HOUR_S) * 1000
    advice = against(night, (1, 2))
    night.heed(seal(advice, LAKE, issued_ms=issued_ms, expires_ms=night.unix_s * 1000), TRUSTED)


def _early(night: Night) -> None:
    issued_ms = (night.unix_s + HOUR_S) * 1000
    advice = against(night, (1, 2))
    night.heed(seal(advice, LAKE, issued_ms=issued_ms, expires_ms=issued_ms + 1), TRUSTED)


def _unsigned(night: Night) -> None:
    artifact = bytearray(sealed(against(night, (1, 2)), night))
    artifact[-1] ^= 1
    ignored(night, bytes(artifact))


def _strangers(night: Night) -> None:
    ignored(night, sealed(against(night, (1, 2)), night, MALLORY))


def _switched_off(night: Night) -> None:
    with suppress(RemoteError):
        night.heed(sealed(against(night, (1, 2)), night), frozenset())


def _elsewhere(night: Night) -> None:
    night.heed(sealed(against(night, (1, 2), realm=b"another!"), night), TRUSTED)


@pytest.fixture(scope="module")
def without() -> str:
    """The log of a night of a mesh that never heard of a lake."""
    return Night(9).run().world.journal.digest


@pytest.mark.parametrize(
    "spoil", [_deleted, _stale, _early, _unsigned, _strangers, _switched_off, _elsewhere]
)
def test_without_advice_in_force_every_packet_is_the_same(
    spoil: Callable[[Night], None], without: str
) -> None:
    """P5"""
    night = Night(9)
    spoil(night)
    assert night.run().world.journal.digest == without


def test_with_advice_in_force_the_log_is_another(without: str) -> None:
    night = Night(9)
    night.heed(sealed(against(night, (1, 2)), night), TRUSTED)
    assert night.run().world.journal.digest != without


def test_costs_are_as_measured_again_soon_after_the_advice_is_gone() -> None:
    """P5: the kill switch, and its end in the middle of a window."""
    night = Night(3)
    night.talk(5.0)
    assert night.route == OVER_1
    for end in ("deleted", "expired"):
        lasts_s = HOUR_S if end == "deleted" else 20
        night.heed(sealed(against(night, (1, 2)), night, lasts_s=lasts_s), TRUSTED)
        night.talk(10.0)
        assert night.route == OVER_3
        if end == "deleted":
            night.heed(None, TRUSTED)
        else:
            night.talk(10.0)
        night.talk(15.0)
        assert night.route == OVER_1, end
    assert night.lost == 0


def test_an_explanation_names_the_advice_and_who_gave_it() -> None:
    night = Night(3)
    night.heed(sealed(against(night, (1, 2)), night), TRUSTED)
    night.talk(10.0)
    source = night.world.members[0].core
    explanation = source.explain(night.hashname(TARGET), night.world.now)
    lines = explanation.lines(lambda node: str(night.world.numbers[node]))
    [note] = [line for line in lines if line.startswith("note")]
    assert "1 – 2 advice: costs 2.00 × from 01:59 to 04:59 UTC" in note.replace("2 – 1", "1 – 2")
    assert note.endswith(f"by {LAKE.hashname[:8]}")


def test_it_is_enough_if_one_end_of_the_link_follows_the_advice() -> None:
    """P5: the worse claim counts, and those who know nothing of a lake go around, too."""
    night = Night(3)
    cost_advice = night.world.members[2].core.cost_advice
    cost_advice.advisors = TRUSTED
    cost_advice.heed(sealed(against(night, (1, 2)), night))
    night.talk(15.0)
    assert night.route == OVER_3


def test_wrong_advice_makes_a_detour_and_nobody_unreachable() -> None:
    """P5: good links called bad, one way and then all of them."""
    night = Night(3)
    night.heed(sealed(against(night, (0, 1), (1, 2)), night), TRUSTED)
    night.talk(15.0)
    assert night.route == OVER_3
    night.heed(sealed(against(night, *RING.delays_s), night), TRUSTED)
    night.talk(15.0)
    assert night.route in (OVER_1, OVER_3)
    assert night.lost == 0
    members = night.world.members.values()
    assert all(
        one.core.table.to(other.id, night.world.now) is not None
        for one in members
        for other in members
        if one is not other
    )
