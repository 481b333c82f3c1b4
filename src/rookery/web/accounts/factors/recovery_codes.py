"""Recovery codes: each replaces a lost factor once. 80 random bits; a keyed hash is kept."""

from collections.abc import Callable

from rookery.wire import base32

COUNT = 10
_SIZE = 10
_CHARACTERS = 16
_GROUP = 4


def new_codes(random: Callable[[int], bytes]) -> list[str]:
    """As they are shown: `abcd-efgh-ijkl-mnop`."""
    texts = [base32.encode(random(_SIZE)) for _ in range(COUNT)]
    return [
        "-".join(text[at : at + _GROUP] for at in range(0, _CHARACTERS, _GROUP)) for text in texts
    ]


def normalised_code(typed: str) -> str:
    """Without what people put between the characters; empty for what cannot be a code."""
    text = "".join(typed.split()).replace("-", "").lower()
    return text if len(text) == _CHARACTERS and text.isascii() and text.isalnum() else ""
