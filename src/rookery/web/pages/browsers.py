"""What a browser calls itself, made short enough to be recognised by its owner."""

import re

# In this order: each also names those after it.
_PROGRAMS = (
    ("Edge", r"Edg(?:A|iOS)?/([0-9]+)"),
    ("Opera", r"OPR/([0-9]+)"),
    ("Firefox", r"(?:Firefox|FxiOS)/([0-9]+)"),
    ("Chrome", r"(?:HeadlessChrome|Chrome|CriOS)/([0-9]+)"),
    ("Safari", r"Version/([0-9]+)[0-9.]* (?:Mobile/\w+ )?Safari"),
)
_SYSTEMS = (
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Windows", "Windows"),
    ("macOS", "Mac OS X"),
    ("ChromeOS", "CrOS"),
    ("Linux", "Linux"),
)


def browser(agent: str) -> str:
    """`Firefox 140, Linux`; what is not known is shown as it came."""
    for name, pattern in _PROGRAMS:
        if found := re.search(pattern, agent):
            system = next((system for system, mark in _SYSTEMS if mark in agent), "")
            return f"{name} {found[1]}" + (f", {system}" if system else "")
    return agent
