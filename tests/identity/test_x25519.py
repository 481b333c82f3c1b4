import pytest

from rookery.errors import DecodeError
from rookery.identity import x25519


def test_both_sides_agree() -> None:
    one, other = b"1" * 32, b"2" * 32
    assert x25519.agree(one, x25519.public(other)) == x25519.agree(other, x25519.public(one))


@pytest.mark.parametrize("x", [0, 1, 2**255 - 20, 2**255 - 19, 2**255 - 18])
def test_a_point_of_small_order_is_refused(x: int) -> None:
    with pytest.raises(DecodeError):
        x25519.agree(b"1" * 32, x.to_bytes(32, "little"))
