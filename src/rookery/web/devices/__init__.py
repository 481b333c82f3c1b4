"""Devices: claiming, naming, telemetry, events, and connecting to them."""
