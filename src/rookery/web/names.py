"""Names that people give to things: any script, one line, nothing that hides."""

import unicodedata

from rookery.errors import UsageError

LENGTH_MAX = 64


def checked_name(name: str) -> str:
    """The name as it is kept, or UsageError."""
    spelled = " ".join(unicodedata.normalize("NFC", name).split())
    if not 1 <= len(spelled) <= LENGTH_MAX or not spelled.isprintable():
        raise UsageError(f"a name has 1 to {LENGTH_MAX} printable characters")
    return spelled
