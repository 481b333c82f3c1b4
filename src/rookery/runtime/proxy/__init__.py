"""The proxy on real sockets: the service that exits offer, connectors, and listeners for programs.

program ─▶ listener ─▶ connector ═ tunnel stream ═▶ service ─▶ TCP, UDP or serial
"""
