from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from hypothesis import given
from hypothesis import strategies as st

from rookery.identity import hkdf


@given(st.binary(min_size=1, max_size=64), st.binary(max_size=200), st.binary(max_size=64))
def test_keys_are_those_of_the_standard(agreement: bytes, info: bytes, salt: bytes) -> None:
    salted = HKDF(hashes.SHA256(), hkdf.KEY_SIZE, salt, info).derive(agreement)
    assert hkdf.expand(hkdf.extract(agreement, salt), info) == salted
    expected = HKDF(hashes.SHA256(), hkdf.KEY_SIZE, None, info).derive(agreement)
    assert hkdf.expand(hkdf.extract(agreement), info) == expected
