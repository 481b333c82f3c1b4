"""Words of overview, servers and insights."""

WORDS: dict[str, str] = {}
