"""Servers: seats, load forecast, draining and forgetting."""
