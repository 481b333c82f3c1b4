"""Reports of devices and servers: sent by a reporter, proved, validated by the hub. Without I/O."""
