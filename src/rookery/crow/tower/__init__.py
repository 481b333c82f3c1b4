"""A tower: routing of packets, delivery with QoS, duplicates, validation of addresses."""
