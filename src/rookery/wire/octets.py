"""Octets: bytes in whichever form they came to be, so that large packets need not be copied.

Whoever is given some reads them at once: they may lie where something else will be read to next.
"""

from collections.abc import Sequence

Octets = bytes | bytearray | memoryview
Parts = Sequence[Octets]  # of what nobody has put into one piece yet
