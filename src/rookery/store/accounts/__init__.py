"""Accounts, their credentials and sessions, and the audit log."""
