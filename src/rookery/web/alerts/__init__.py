"""Alerts: what is checked, kept, shown as incidents, and sent by mail and webhook."""
