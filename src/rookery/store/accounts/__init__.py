"""Accounts, how they sign in and prove who they are, and the audit log."""
