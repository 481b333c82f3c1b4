"""A deterministic world for the same cores: virtual clock, seeded network."""
