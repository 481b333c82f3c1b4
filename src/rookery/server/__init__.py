"""The server: where a client and its device meet and speak JSON-RPC."""
