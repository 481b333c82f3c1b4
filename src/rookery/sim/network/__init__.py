"""The simulated network: delay, loss and rate, NATs, connections."""
