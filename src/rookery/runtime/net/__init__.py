"""Sockets and addresses as every other part uses them, a small HTTP server, an emulated link."""
