"""Outbox: ordered requests to a peer that survive its sessions, without I/O.

                 any thread │ the loop's thread
    add_packet ─▶ inbox ────┼──▶ working list ─▶ session queue ─▶ written ─▶ acknowledged, answered
                            │         ▲  head         │              │
    set_invalid ─▶ dropped ─┼─▶ …     └──────────── session lost ────┘
                            │
The names are those of the protocol that this is based on: peer, request, `add_packet`,
`set_invalid`, `begin_write`, `process_packet_queue`. For use from several threads, pass a lock as
`guard`: it protects all state that more than one thread uses.
"""
