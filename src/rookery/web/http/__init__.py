"""What every request and answer shares: origin checks, limits, headers, problems, TLS."""
