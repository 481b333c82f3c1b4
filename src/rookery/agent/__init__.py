"""The device agent: reports to the hub, goes where it is called, does what it is told."""
