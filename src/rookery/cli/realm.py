"""`rookery realm`: found a realm, invite into it, join one, see who is in it, revoke.

Its verbs are imported when they are called, as those of the program itself.
"""

from cyclopts import App

app = App(name="realm")

app.command(
    "rookery.cli.realm_members:init",
    name="init",
    help="Found a realm in a new folder, with us as its first member.",
    help_epilogue="Example:  rookery realm init home --name home --id alice\n\n"
    "The folder then holds the realm's secret, authority.key: whoever has it decides who is in "
    "the realm. Keep a copy in a safe place.",
)
app.command(
    "rookery.cli.realm_invite:invite",
    name="invite",
    help="Print a URL that lets one endpoint join, once, for an hour.",
    help_epilogue="Example:  rookery realm invite --realm home --link alice.link --qr\n\n"
    "Our node must be running with this realm, for that is where the guest joins; where none "
    "is, --wait does it. The URL is a secret until it is used.",
)
app.command(
    "rookery.cli.realm_invite:join",
    name="join",
    help="Redeem an invitation; a new folder then holds our membership.",
    help_epilogue="Example:  rookery realm join rookery:join/… --realm home --id bob",
)
app.command(
    "rookery.cli.realm_members:show",
    name="show",
    help="Show a realm and what we are in it.",
    help_epilogue="Example:  rookery realm show --realm home",
)
app.command(
    "rookery.cli.realm_members:members",
    name="members",
    help="List who is in the realm, and who was, as far as this folder knows.",
    help_epilogue="Example:  rookery realm members --realm home --json",
)
app.command(
    "rookery.cli.realm_members:renew",
    name="renew",
    help="Give a member a new certificate: more time, or other roles.",
    help_epilogue="Example:  rookery realm renew bob --realm home --roles relay,exit",
)
app.command(
    "rookery.cli.realm_members:revoke",
    name="revoke",
    help="End a membership. A running node tells all others within seconds.",
    help_epilogue="Example:  rookery realm revoke HASHNAME --realm home",
)
app.command(
    "rookery.cli.realm_invite:invitations",
    name="invitations",
    help="List the invitations given out: open or used, by whom, and who came too late.",
    help_epilogue="Example:  rookery realm invitations --realm home",
)
app.command(
    "rookery.cli.realm_invite:withdraw",
    name="withdraw",
    help="Take an open invitation back.",
    help_epilogue="Example:  rookery realm withdraw 1f2e3d4c --realm home",
)
