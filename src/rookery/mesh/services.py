"""The services of nodes, by the names that members open streams to them with."""

ADVICE = "advice"  # where it is served; every node has the others
BENCH = "bench"
FILES = "files"
OUTBOX = "outbox"
PROXY = "proxy"

PROBES = "probe"  # no stream: who answers probes says so in its record
