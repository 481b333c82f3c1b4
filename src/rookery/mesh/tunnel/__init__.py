"""Tunnels: streams and datagrams between two members over every way there is, and no I/O.

program ─▶ streams ─▶ turns ─▶ scheduler ─▶ packing ─▶ a way out ─▶ (way, head, body)
program ◀─ streams ◀─ frames ◀─ a way in ◀─ (way, head, body)
                          └───▶ acknowledgements ─▶ the ways out, what was lost ─▶ streams
"""
