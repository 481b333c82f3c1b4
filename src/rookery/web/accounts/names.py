"""Logins, and names of devices, tokens and passkeys: their normal form and what is allowed.

A login has one spelling, so that no two accounts look the same. A name is one line in any script,
without invisible characters.
"""

import re
import unicodedata

from rookery.errors import UsageError

LOGIN_LENGTH_MAX = 64
_ALLOWED = re.compile(rf"[a-z0-9][a-z0-9._@+-]{{1,{LOGIN_LENGTH_MAX - 1}}}")


def normalised_login(login: str) -> str:
    """The normal form of a login, for looking up an account; never an error."""
    return unicodedata.normalize("NFKC", login[: 4 * LOGIN_LENGTH_MAX].strip()).casefold()


def new_login(login: str) -> str:
    """The spelling to store; UsageError if it is not allowed."""
    spelled = normalised_login(login)
    if _ALLOWED.fullmatch(spelled) is None:
        raise UsageError(
            f"a login has 2 to {LOGIN_LENGTH_MAX} letters a-z, digits and . _ @ + -, "
            "and begins with a letter or digit"
        )
    return spelled


NAME_LENGTH_MAX = 64


def checked_name(name: str) -> str:
    """The spelling to store; UsageError if it is not allowed."""
    spelled = " ".join(unicodedata.normalize("NFC", name).split())
    if not 1 <= len(spelled) <= NAME_LENGTH_MAX or not spelled.isprintable():
        raise UsageError(f"a name has 1 to {NAME_LENGTH_MAX} printable characters")
    return spelled
