"""Login names: one spelling each, so that no two accounts look the same."""

import re
import unicodedata

from rookery.errors import UsageError

LOGIN_LENGTH_MAX = 64
_ALLOWED = re.compile(rf"[a-z0-9][a-z0-9._@+-]{{1,{LOGIN_LENGTH_MAX - 1}}}")


def normalised_login(login: str) -> str:
    """The one spelling of a login, whatever it is; for looking somebody up."""
    return unicodedata.normalize("NFKC", login[: 4 * LOGIN_LENGTH_MAX].strip()).casefold()


def new_login(login: str) -> str:
    """The spelling to keep; UsageError where nobody may be called that."""
    spelled = normalised_login(login)
    if _ALLOWED.fullmatch(spelled) is None:
        raise UsageError(
            f"a login has 2 to {LOGIN_LENGTH_MAX} letters a-z, digits and . _ @ + -, "
            "and begins with a letter or digit"
        )
    return spelled


NAME_LENGTH_MAX = 64


def checked_name(name: str) -> str:
    """The name as it is kept, or UsageError."""
    spelled = " ".join(unicodedata.normalize("NFC", name).split())
    if not 1 <= len(spelled) <= NAME_LENGTH_MAX or not spelled.isprintable():
        raise UsageError(f"a name has 1 to {NAME_LENGTH_MAX} printable characters")
    return spelled
