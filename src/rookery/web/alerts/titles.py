"""Titles of alerts in the reader's language; they are stored in English, with names."""

import re

from rookery.web.words.translation import PageTranslation

# What the rules say, with {} for names and numbers; the more special first.
PATTERNS = (
    "The last server is silent: nobody can connect: {}",
    "No server has a free seat: {}",
    "A server is silent: {}",
    "A server is full: {}",
    "The spool is full: reports are not acknowledged",
    "The lake is far behind the spool",
    "The lake has had nothing new for a long time",
    "The mesh has lost {}",
    "The link {} loses packets",
    "The link {} is {}",
    "Reports that no honest device sends: {}",
    "Failed together: {} of kind {}",
    "Unusual traffic: {}",
    "Unusual loss: {}",
    "Unusual round trip: {}",
    "Unusual load: {}",
    "Unusual temperature: {}",
    "1 device is silent: {}",
    "{} devices are silent at once",
    "{} devices are silent: {}",
    "{} is silent",
    # Notes
    "{} of {} seats",
    "{} of the room waits",
    "{} events from {} addresses",
    "room for {} MiB",
    "{} lost",
    "{} members",
    "{} where {} is usual",
    "part of: {}",
    "{} of {}",
)

_KINDS = ("site", "node", "router", "server", "link", "member")
_COMPILED = [
    (pattern, re.compile("(.*)".join(re.escape(part) for part in pattern.split("{}")), re.DOTALL))
    for pattern in PATTERNS
]


def translated(title: str, texts: PageTranslation) -> str:
    """A translated title or note; English where there is no translation."""
    if texts.language == "en":
        return title
    for pattern, compiled in _COMPILED:
        if found := compiled.fullmatch(title):
            parts = texts(pattern).split("{}")
            names = [_name(name, texts) for name in found.groups()]
            return "".join(part for pair in zip(parts, (*names, ""), strict=True) for part in pair)
    return title


def _name(name: str, texts: PageTranslation) -> str:
    """Translate the kind before a name, as in `site 192.0.2.0/24`."""
    kind, blank, rest = name.partition(" ")
    return f"{texts(kind)} {rest}" if blank and kind in _KINDS else texts(name)
