"""The demo's past: two weeks of reports of its own devices, until it was started.

It is generated in a process of its own, from a file with the roster, while the demo starts.
"""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import msgspec

from rookery.cli.demo.folder import DemoFolder
from rookery.cli.demo.members import DemoMembers
from rookery.cli.demo.site_plan import DEVICES, LINKS, NODES, NUMBER, RELAY, SERVERS, SITES, mac
from rookery.wire.fleet.mac import mac_text

if TYPE_CHECKING:
    from rookery.lake.synthetic.roster import Roster

DAYS_MAX = 60
SEED = 1
SAMPLE_S = 600  # between the samples of a link, so that there is less to work on
_FILE = "roster.json"


def write_roster(folder: DemoFolder, members: DemoMembers) -> None:
    (folder.path / _FILE).write_bytes(msgspec.json.encode(roster(members)))


def roster(members: DemoMembers) -> "Roster":
    """The site plan as the lake's generator knows it."""
    from rookery.lake.synthetic.roster import Roster, RosterDevice, RosterLink

    return Roster(
        devices=tuple(
            RosterDevice(
                mac_text(mac(planned)),
                members.hashname(planned.name),
                SITES.index(planned.site),
                planned.role,
            )
            for planned in DEVICES
        ),
        servers=tuple(map(members.hashname, SERVERS)),
        sites=SITES,
        realm=members.realm_id,
        nodes=len(NODES),
        links=tuple(
            RosterLink(
                NUMBER[link.one],
                NUMBER[link.other],
                rtt_ms=2 * link.delay_ms,
                loss=link.loss,
                fades=link.is_fading,
                flaps=link.is_flapping,
            )
            for link in LINKS
        ),
        relay=NUMBER[RELAY],
    )


def land_history(folder: DemoFolder, days: int) -> int:
    """Land the history in the demo's lake; the number of rows."""
    from rookery.lake.engine.delta import Lake
    from rookery.lake.synthetic.dataset import SyntheticDataset
    from rookery.lake.synthetic.landing import land
    from rookery.lake.synthetic.roster import Roster

    file = folder.path / _FILE
    # When the roster was written, the demo's devices had not yet begun to report.
    now = datetime.fromtimestamp(file.stat().st_mtime, UTC)
    history = SyntheticDataset(
        seed=SEED,
        start=now.date() - timedelta(days=days),
        days=days + 1,
        sample_s=SAMPLE_S,
        roster=msgspec.json.decode(file.read_bytes(), type=Roster),
        until=now,
    )
    return land(history, Lake(str(folder.lake))).total()
