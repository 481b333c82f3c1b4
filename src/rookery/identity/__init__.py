"""Who: keys, hashnames and cipher sets."""
