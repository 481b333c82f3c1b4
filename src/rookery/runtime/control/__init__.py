"""The control socket of a running node: server, client and messages."""
