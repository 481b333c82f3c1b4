"""Alerts: checking the fleet, incidents and their pages, sending by mail and webhook."""
