"""The UDP port of a hub: reports in batches, from the socket to spool and hot store."""
