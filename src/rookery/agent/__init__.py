"""The device agent: reports to the hub, connects to servers on demand and serves JSON-RPC."""
