"""`rookery crow`: source-routed packets between towers, and a broker for what is published.

Its verbs are imported when they are called, as those of the program itself.
"""

from rookery.cli.verb import CliVerb, group

VERBS = (
    CliVerb(
        "address",
        "crow.address:address",
        "Print the bytes of an address in hex, or with --hex the text of its bytes.",
        "rookery crow address .12.127.0.0.1:10009",
    ),
    CliVerb(
        "send",
        "crow.send:send",
        "Send one packet, and say whether it was delivered.",
        "rookery crow send .12.127.0.0.1:7001 hello --qos 2",
    ),
    CliVerb(
        "tower",
        "crow.tower:tower",
        "Print what arrives, one JSON object a line, until stopped; the first line says where.",
        "rookery crow tower --udp 7001 --echo",
    ),
    CliVerb(
        "broker",
        "crow.broker:broker",
        "Pass on what is published to those who subscribed, until stopped.",
        "rookery crow broker --udp 10009 --http 8080",
    ),
    CliVerb(
        "pub",
        "crow.pub:pub",
        "Publish a message to a theme.",
        "rookery crow pub sensors/t 21.5 --qos 2",
    ),
    CliVerb(
        "sub",
        "crow.sub:sub",
        "Print what is published to themes; + and # stand for any level and any rest.",
        "rookery crow sub 'sensors/#' --qos 1",
    ),
    CliVerb(
        "request",
        "crow.request:request",
        "Send a request to the server of a theme; the answer goes to stdout.",
        "rookery crow request clock now",
    ),
    CliVerb(
        "serve",
        "crow.serve:serve",
        "Answer the requests of a theme with what a program makes of them, until stopped.",
        "rookery crow serve clock -- date",
    ),
)

app = group("crow", VERBS)
