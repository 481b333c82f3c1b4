"""The proxy on real sockets: the service that exits offer, connectors, and doors for programs.

program ─▶ door ─▶ connector ═ tunnel stream ═▶ service ─▶ TCP, UDP or serial
"""
