"""The proxy without I/O: what is asked of an exit, who may ask it, and which exit to ask.

program ─▶ race over exits ─▶ opening ═ tunnel stream ═▶ rules ─▶ TCP, UDP or serial
                            ◀═ answer, then bytes both ways ═
"""
