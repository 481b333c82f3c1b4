"""The services that every node has, by the names that members open streams to them with."""

BENCH = "bench"
FILES = "files"
OUTBOX = "outbox"
PROXY = "proxy"
