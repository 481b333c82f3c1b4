"""What all hubs of one database share: settings, leases and drained servers."""
