"""Connections of clients to devices: rendezvous, seats at servers, their leases, load forecasts."""
