"""Login names: one spelling each, so that no two accounts look the same."""

import re
import unicodedata

from rookery.errors import UsageError

LENGTH_MAX = 64
_ALLOWED = re.compile(rf"[a-z0-9][a-z0-9._@+-]{{1,{LENGTH_MAX - 1}}}")


def normalised(login: str) -> str:
    """The one spelling of a login, whatever it is; for looking somebody up."""
    return unicodedata.normalize("NFKC", login[: 4 * LENGTH_MAX].strip()).casefold()


def new_login(login: str) -> str:
    """The spelling to keep; UsageError where nobody may be called that."""
    spelled = normalised(login)
    if _ALLOWED.fullmatch(spelled) is None:
        raise UsageError(
            f"a login has 2 to {LENGTH_MAX} letters a-z, digits and . _ @ + -, "
            "and begins with a letter or digit"
        )
    return spelled
