"""The nodes of a tower: messages and their chunks, channels, queries."""
