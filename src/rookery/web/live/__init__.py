"""Live topics: server-sent events of what changed."""
