"""The proxy without I/O: requests to an exit, permissions, and the choice of an exit.

program ─▶ race over exits ─▶ opening ═ tunnel stream ═▶ rules ─▶ TCP, UDP or serial
                            ◀═ answer, then bytes both ways ═
"""
