"""Alerts, what happened to them, and their deliveries to outside channels."""
