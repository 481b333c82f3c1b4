"""From spools to landing tables: observations as they came, typed, each once."""
