"""Identity: keys, hashnames and cipher sets."""
