"""Accounts: sign-in, sessions, API tokens, roles, preferences and the audit."""
