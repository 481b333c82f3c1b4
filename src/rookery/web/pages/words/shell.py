"""Words of what is on every page, and of the account."""

WORDS: dict[str, str] = {}
