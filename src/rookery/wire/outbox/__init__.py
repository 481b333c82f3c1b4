"""Outbox sessions on the wire: frames and the reader of them."""
