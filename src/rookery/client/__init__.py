"""The client's side: signs in to the hub, asks for a device, speaks to it."""
