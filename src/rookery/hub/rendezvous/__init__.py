"""Connections of clients to routers: rendezvous, seats at servers, their leases, load forecasts."""
