"""Weather between two ends: rules of a relay, without a clock."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import UsageError
from rookery.sim.network.network import Conditions
from rookery.sim.network.weather import LinkDirection, LinkFlap, Weather, WeatheredLink

FLAP = LinkFlap(up_s=30.0, down_s=10.0)
SIZE = 500


def passage(weather: Weather, seed: int = 1) -> WeatheredLink:
    return WeatheredLink(weather, Random(seed))


def test_a_datagram_arrives_once_and_later() -> None:
    calm = passage(Weather(conditions=Conditions(delay_s=0.02)))
    for direction in LinkDirection:
        assert calm.datagram(direction, SIZE, 5.0) == (5.02,)
    assert calm.lost == 0


def test_a_lossy_link_loses_about_what_it_says() -> None:
    lossy = passage(Weather(conditions=Conditions(loss=0.25)))
    fates = [lossy.datagram(LinkDirection.THERE, SIZE, float(n)) for n in range(2000)]
    lost = sum(not fate for fate in fates)
    assert 400 < lost < 600
    assert lossy.lost == lost


def test_the_same_seed_has_the_same_fates() -> None:
    lossy = Weather(conditions=Conditions(loss=0.5, jitter_s=0.01))

    def fates(seed: int) -> list[object]:
        link = passage(lossy, seed)
        return [link.datagram(LinkDirection.BACK, SIZE, float(n)) for n in range(50)]

    assert fates(7) == fates(7) != fates(8)


@given(now=st.floats(0, 1e6))
def test_what_flaps_is_up_when_it_says_it_will_be(now: float) -> None:
    wait_s = FLAP.up_in_s(now)
    assert (wait_s == 0.0) is FLAP.is_up(now)
    assert wait_s <= FLAP.down_s
    if wait_s > 1e-3:
        assert FLAP.is_up(now + wait_s + 1e-6)
        assert not FLAP.is_up(now + wait_s / 2)


def test_a_flapping_link_carries_datagrams_only_while_it_is_up() -> None:
    link = passage(Weather(flap=FLAP))
    assert link.datagram(LinkDirection.THERE, SIZE, 29.0)
    assert not link.datagram(LinkDirection.THERE, SIZE, 31.0)
    assert link.opens_in_s(31.0) == 9.0
    assert link.datagram(LinkDirection.THERE, SIZE, 41.0)
    assert link.opens_in_s(41.0) == 0.0
    assert link.lost == 1


@pytest.mark.parametrize("flap", [None, FLAP])
def test_what_is_cut_carries_nothing_until_it_is_mended(flap: LinkFlap | None) -> None:
    link = passage(Weather(flap=flap))
    link.is_cut = True
    assert not link.datagram(LinkDirection.BACK, SIZE, 1.0)
    assert link.opens_in_s(1.0) is None
    link.is_cut = False
    assert link.datagram(LinkDirection.BACK, SIZE, 1.0)
    assert link.opens_in_s(1.0) == 0.0


def test_a_loss_costs_a_stream_time_and_nothing_else() -> None:
    slow = passage(Weather(conditions=Conditions(delay_s=0.01, loss=0.5)))
    arrivals = [slow.segment(LinkDirection.THERE, SIZE, 0.0) for _ in range(100)]
    assert min(arrivals) == 0.01
    assert max(arrivals) > 0.05


def test_what_never_comes_or_never_goes_does_not_flap() -> None:
    with pytest.raises(UsageError, match="flaps"):
        LinkFlap(up_s=1.0, down_s=0.0)
