"""`rookery fleet`: what concerns a whole fleet, at the hub's side.

Its verbs are imported when they are called, as those of the program itself.
"""

from rookery.cli.verb import CliVerb, group

VERBS = (
    CliVerb(
        "simulate",
        "fleet.simulate:simulate",
        "Have many devices report to a hub with real packets, and count what becomes of it.",
        "rookery fleet simulate --routers 100 --interval 2 --seconds 5",
    ),
    CliVerb(
        "account",
        "fleet.account:app",
        "Add, list and remove the hub's accounts; give them roles and passwords.",
        "",
    ),
    CliVerb(
        "code",
        "fleet.code:code",
        "Print a code with which one new server or device may enrol.",
        "rookery fleet code --server > server.code",
    ),
    CliVerb(
        "drain",
        "fleet.drain:drain",
        "Give a server no new sessions, so that it empties; --undo ends that.",
        "rookery fleet drain --list",
    ),
    CliVerb(
        "forget",
        "fleet.forget:forget",
        "Have no more to do with a device or a server: unbind it, revoke it, end its sessions.",
        "rookery fleet forget 02:fc:00:00:00:01",
    ),
    CliVerb(
        "alerts",
        "fleet.alerts:alerts",
        "List the fleet's alerts; with an ID, the history of one.",
        "rookery fleet alerts --all",
    ),
    CliVerb(
        "ack",
        "fleet.alerts:ack",
        "Acknowledge an alert: you are working on it.",
        "rookery fleet ack 17",
    ),
    CliVerb(
        "mute",
        "fleet.alerts:mute",
        "Send no notifications of an alert for a while; --for 0 ends that.",
        "rookery fleet mute 17 --for 8h",
    ),
)

app = group("fleet", VERBS)
