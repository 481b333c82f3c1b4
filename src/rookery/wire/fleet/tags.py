"""Tags of the fleet's messages, in four ranges by sender; docs/protocol/fleet.md lists them.

   1 …  1024   any sender: the system's own
1025 …  2048   the hub
2049 …  3072   servers
3073 …  4096   routers, and clients as their guests
"""

from typing import Final

SYSTEM_TAGS = range(1, 1025)
HUB_TAGS = range(1025, 2049)
SERVER_TAGS = range(2049, 3073)
ROUTER_TAGS = range(3073, 4097)

ERROR: Final = 1
KEY: Final = 2
SEALED: Final = 3
RPC: Final = 4
RPC_PART: Final = 5

CALL: Final = 1025
DIRECT: Final = 1026
ACK: Final = 1027
SECRET: Final = 1028
RESERVE: Final = 1029
RELEASE: Final = 1030
RENEWED: Final = 1031
CERTIFIED: Final = 1032

LOAD: Final = 2049
RESERVED: Final = 2050
REFUSED: Final = 2051
ARRIVED: Final = 2052
ABANDONED: Final = 2053
WELCOME: Final = 2054
SERVER_HELLO: Final = 2055
AUDIT: Final = 2056  # a call that a server relayed, reported as LOAD is
SESSION: Final = 2057  # a seat that is free again, likewise
HOLD: Final = 2058
LET_GO: Final = 2059
RENEW: Final = 2060
CERTIFY: Final = 2061

TELEMETRY: Final = 3073
ASK: Final = 3074
HELLO: Final = 3075
ARRIVE: Final = 3076
ATTEND: Final = 3077
