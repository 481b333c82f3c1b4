"""`rookery realm`: found a realm, invite, join, list and revoke members.

Its verbs are imported when they are called, as those of the program itself.
"""

from rookery.cli.verb import CliVerb, group

VERBS = (
    CliVerb(
        "init",
        "realm.members:init",
        "Found a realm in a new folder, with us as its first member.",
        "rookery realm init home --name home --id alice",
        "The folder then holds the realm's secret, authority.key, which signs its "
        "certificates. Keep a copy in a safe place, and show it to no one.",
    ),
    CliVerb(
        "invite",
        "realm.invitations:invite",
        "Print a URL that lets one endpoint join, once, for an hour.",
        "rookery realm invite --realm home --link alice.link --qr",
        "Our node must be running with this realm, for the invited endpoint joins there; where "
        "none is, --wait does it. The URL is a secret until it is used.",
    ),
    CliVerb(
        "join",
        "realm.invitations:join",
        "Redeem an invitation; a new folder then holds our membership.",
        "rookery realm join rookery:join/aeaaa… --realm home --id bob",
    ),
    CliVerb(
        "show",
        "realm.members:show",
        "Show a realm and what we are in it.",
        "rookery realm show --realm home",
    ),
    CliVerb(
        "members",
        "realm.members:members",
        "List who is in the realm, and who was, as far as this folder knows.",
        "rookery realm members --realm home --json",
    ),
    CliVerb(
        "renew",
        "realm.members:renew",
        "Give a member a new certificate: more time, or other roles.",
        "rookery realm renew bob --realm home --roles relay,exit",
    ),
    CliVerb(
        "revoke",
        "realm.members:revoke",
        "End a membership; a running node tells all others within seconds.",
        "rookery realm revoke bob --realm home",
    ),
    CliVerb(
        "invitations",
        "realm.invitations:invitations",
        "List the invitations given out: open, or used by whom, and who came too late.",
        "rookery realm invitations --realm home",
    ),
    CliVerb(
        "withdraw",
        "realm.invitations:withdraw",
        "Take an open invitation back.",
        "rookery realm withdraw 1f2e3d4c --realm home",
    ),
)

app = group("realm", VERBS)
