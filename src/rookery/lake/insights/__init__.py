"""From facts to insights: availability, traffic, topology, anomalies and incidents."""
