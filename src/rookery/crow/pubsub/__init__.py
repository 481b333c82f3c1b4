"""Publish and subscribe: the broker, its clients, and the node of a client."""
