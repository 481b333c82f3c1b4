"""The paths of a tunnel: congestion control, round trips, loss detection, and the scheduler."""
