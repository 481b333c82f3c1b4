"""Crow on the wire: packets, node messages, publish and subscribe, the serial line."""
