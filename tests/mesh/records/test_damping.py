"""A link that keeps coming and going is believed more slowly."""

from itertools import pairwise

from rookery.mesh.records.publisher import HOLD_MAX_S, LOSS_PENALTY, FlapDamping


def test_the_first_return_is_believed_at_once() -> None:
    damping = FlapDamping(0.0)
    assert damping.hold_s(0.0) == 0.0
    damping.add(LOSS_PENALTY, 0.0)
    assert damping.hold_s(1.0) == 0.0


def test_each_return_has_to_last_longer_up_to_a_minute() -> None:
    damping = FlapDamping(0.0)
    holds = []
    for second in range(0, 60, 5):
        damping.add(LOSS_PENALTY, float(second))
        holds.append(damping.hold_s(float(second)))
    assert all(one <= other for one, other in pairwise(holds))
    assert holds[1] > 3.0
    assert holds[-1] == HOLD_MAX_S


def test_it_is_forgiven_with_time() -> None:
    damping = FlapDamping(0.0)
    for _ in range(10):
        damping.add(LOSS_PENALTY, 0.0)
    assert damping.hold_s(121.0) == 0.0
    assert not damping.is_forgotten(121.0)
    assert damping.is_forgotten(400.0)
