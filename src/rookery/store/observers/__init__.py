"""Observers of nodes, messages and requests, which write observations to a spool."""
