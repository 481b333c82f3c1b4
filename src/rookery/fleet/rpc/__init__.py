"""JSON-RPC 2.0: messages, methods, their dispatch, and the relay between a client and a device."""
