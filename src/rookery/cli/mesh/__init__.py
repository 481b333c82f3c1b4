"""`rookery node`, and the verbs that ask a running node."""
