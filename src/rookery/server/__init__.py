"""The server: where a client and its router meet and speak JSON-RPC."""
