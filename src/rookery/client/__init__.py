"""The client's side: signs in to the hub, asks for a router, speaks to it."""
