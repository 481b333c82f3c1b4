"""`rookery node`, and the verbs that use a running node."""
