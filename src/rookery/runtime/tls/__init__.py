"""TLS of hubs and servers: a local certificate authority, its certificates, live contexts."""
