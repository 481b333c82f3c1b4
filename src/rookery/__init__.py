"""Rookery: encrypted links between gateways, and what runs over them."""
