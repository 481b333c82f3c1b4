"""Reports of devices and servers: sent by a sender, proved, validated by the hub. Without I/O."""
