"""The client: signs in to the hub, requests a session with a device, and calls its methods."""
