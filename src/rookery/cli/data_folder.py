"""Where a user's programs keep their data."""

import os
from pathlib import Path


def data_folder() -> Path:
    """By the desktop's convention, else below the home folder."""
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "rookery"
