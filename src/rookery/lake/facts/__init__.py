"""From clean tables to facts: rates, uptime, link samples, edges and hourly sums."""
