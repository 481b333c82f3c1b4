"""The fleet on the wire: datagrams, messages, telemetry and forecasts."""
