"""Outbox: ordered requests to a peer that survive its sessions, without I/O.

                 any thread │ the loop's thread
    add_packet ─▶ inbox ────┼──▶ working list ─▶ session queue ─▶ written ─▶ acknowledged, answered
                            │         ▲  head         │              │
    set_invalid ─▶ dropped ─┼─▶ …     └──────────── session lost ────┘
                            │
The names are those of the protocol this grew from: peer, request, `add_packet`, `set_invalid`,
`begin_write`, `process_packet_queue`. Who calls it from several threads gives it a lock as `guard`;
everything that more than one thread touches is touched under that one lock.
"""
