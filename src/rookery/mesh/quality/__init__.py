"""Quality of a link's paths: liveness, measurements, costs, and a stream's UDP companion."""
