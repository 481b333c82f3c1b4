"""`rookery fleet`: what concerns a whole fleet, at the hub's side.

Its verbs are imported when they are called, as those of the program itself.
"""

from rookery.cli.verb import CliVerb, group

VERBS = (
    CliVerb(
        "simulate",
        "fleet.simulate:simulate",
        "Have many routers report to a hub with real packets, and count what becomes of it.",
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
        "Print a code with which one new server or router may enrol.",
        "rookery fleet code --server > server.code",
    ),
    CliVerb(
        "drain",
        "fleet.drain:drain",
        "Have a server get nobody new, so that it empties; --undo ends that.",
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
        "Show what is the matter with the fleet; with an ID, what happened to that alert.",
        "rookery fleet alerts --all",
    ),
    CliVerb(
        "ack",
        "fleet.alerts:ack",
        "Acknowledge an alert: you see to it.",
        "rookery fleet ack 17",
    ),
    CliVerb(
        "mute",
        "fleet.alerts:mute",
        "Have nobody told of an alert for a while; --for 0 ends that.",
        "rookery fleet mute 17 --for 8h",
    ),
)

app = group("fleet", VERBS)
