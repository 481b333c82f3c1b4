import random

import pytest

from rookery.errors import DecodeError
from rookery.identity.cs3a import CipherSet3a

CHANCE = random.Random(0x3A).randbytes


@pytest.mark.parametrize("x", [0, 1, 2**255 - 19, 2**255 - 18])
def test_points_of_small_order_are_refused_as_key_and_as_ephemeral(x: int) -> None:
    point = x.to_bytes(32, "little")
    local = CipherSet3a().load(CipherSet3a().generate(CHANCE))
    opened = local.open(local.exchange(local.key, CHANCE).seal(b""))
    with pytest.raises(DecodeError):
        local.exchange(point, CHANCE)
    with pytest.raises(DecodeError):
        local.verify(opened, point)
    with pytest.raises(DecodeError):
        local.open(point + opened.body[32:])
