"""Alerts: rules that find conditions, and their tracking from raised to resolved; without I/O."""
