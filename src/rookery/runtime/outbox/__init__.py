"""Outboxes on real streams: threads, sessions, dialling, handling, and a ledger on disk."""
