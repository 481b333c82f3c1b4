"""Words of incidents, topics, audit and system."""

WORDS: dict[str, str] = {}
