"""Measurements side by side with the limits of the machine; `make bench` runs them all."""
