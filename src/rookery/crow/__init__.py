"""Crow: towers, source-routed packets between them, and what is built on those packets."""
