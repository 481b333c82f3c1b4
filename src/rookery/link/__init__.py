"""Links without I/O: exchange, handshake, paths and channels."""
