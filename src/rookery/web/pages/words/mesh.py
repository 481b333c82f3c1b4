"""Words of the map and the matrix."""

WORDS: dict[str, str] = {}
