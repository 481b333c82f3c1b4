"""SipHash-2-4 in the flavour of the public JavaScript implementation.

It reads every four bytes of the key as a big-endian word (the algorithm: little-endian) and
writes the result big-endian. Chat ids, box ids and URI fragments are made with it.
"""

KEY_SIZE = 16
DIGEST_SIZE = 8

_MASK = (1 << 64) - 1


def siphash_js(key: bytes, message: bytes) -> bytes:
    assert len(key) == KEY_SIZE
    k0 = int.from_bytes(key[4:8] + key[0:4], "big")
    k1 = int.from_bytes(key[12:16] + key[8:12], "big")
    state = (
        k0 ^ 0x736F6D6570736575,
        k1 ^ 0x646F72616E646F6D,
        k0 ^ 0x6C7967656E657261,
        k1 ^ 0x7465646279746573,
    )
    whole = len(message) & ~7
    # The last block is what remains, with the length of all in its highest byte.
    last = int.from_bytes(message[whole:], "little") | (len(message) & 0xFF) << 56
    blocks = [int.from_bytes(message[at : at + 8], "little") for at in range(0, whole, 8)]
    for block in (*blocks, last):
        v0, v1, v2, v3 = state
        v0, v1, v2, v3 = _round(*_round(v0, v1, v2, v3 ^ block))
        state = v0 ^ block, v1, v2, v3
    v0, v1, v2, v3 = state
    v2 ^= 0xFF
    for _ in range(4):
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    return (v0 ^ v1 ^ v2 ^ v3).to_bytes(DIGEST_SIZE, "big")


def _round(v0: int, v1: int, v2: int, v3: int) -> tuple[int, int, int, int]:
    v0 = (v0 + v1) & _MASK
    v2 = (v2 + v3) & _MASK
    v1 = _rotate(v1, 13) ^ v0
    v3 = _rotate(v3, 16) ^ v2
    v0 = (_rotate(v0, 32) + v3) & _MASK
    v2 = (v2 + v1) & _MASK
    v1 = _rotate(v1, 17) ^ v2
    v3 = _rotate(v3, 21) ^ v0
    return v0, v1, _rotate(v2, 32), v3


def _rotate(word: int, bits: int) -> int:
    return (word << bits | word >> (64 - bits)) & _MASK
