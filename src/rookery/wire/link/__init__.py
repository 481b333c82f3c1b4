"""Links on the wire: packets, cloaking, framing, paths and addresses."""
