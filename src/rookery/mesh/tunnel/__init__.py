"""Tunnels: streams and datagrams between two members over every path there is, without I/O.

program ─▶ streams ─▶ scheduler ─▶ packet builder ─▶ outbound path ─▶ (path, head, body)
program ◀─ streams ◀─ frames ◀─ packet receiver ◀─ inbound path ◀─ (path, head, body)
                                    └─▶ acknowledgements ─▶ outbound paths, lost data ─▶ streams
"""
