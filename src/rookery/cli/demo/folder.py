"""The demo's folder: everything it writes is in there, and what an earlier one left goes first.

demo.json    says that the folder is a demo's; nothing else is ever removed
demo.sock    where another terminal asks for an incident
hub/ lake/ export/ berlin-gw1/ …          logs/    what the parts had to say
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rookery.errors import UsageError
from rookery.store.spool.folder_lock import lock_folder

MARK = "demo.json"
NAME = Path(".demo")
_LOCK = "running"


@dataclass(frozen=True)
class DemoFolder:
    """Paths of the demo's files."""

    path: Path

    @property
    def socket(self) -> Path:
        return self.path / "demo.sock"

    @property
    def hub(self) -> Path:
        return self.path / "hub"

    @property
    def hub_link(self) -> Path:
        return self.path / "hub.link"

    @property
    def lake(self) -> Path:
        return self.path / "lake"

    @property
    def lake_keys(self) -> Path:
        return self.path / "lake-keys"

    @property
    def export(self) -> Path:
        return self.path / "export"

    @property
    def broker(self) -> Path:
        return self.path / "broker"

    @property
    def temporary(self) -> Path:
        return self.path / "tmp"

    def member(self, name: str) -> Path:
        """Folder of a device or a server."""
        return self.path / name

    def log(self, name: str) -> Path:
        return self.path / "logs" / f"{name}.log"


@contextmanager
def prepared(path: Path) -> Iterator[DemoFolder]:
    """An empty folder, locked while in use; UsageError where it is not a demo's."""
    is_new = not path.exists()
    if not is_new and not (path / MARK).is_file() and any(path.iterdir()):
        raise UsageError(f"{path} holds something else; choose another --folder")
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        (path / MARK).touch()
    except OSError as error:
        raise UsageError(f"cannot use {path}: {error.strerror}; choose another --folder") from error
    with _only_one(path):
        for left in path.iterdir():
            if left.name not in (MARK, _LOCK):
                shutil.rmtree(left) if left.is_dir() and not left.is_symlink() else left.unlink()
        for name in ("logs", "tmp", "export"):
            (path / name).mkdir(mode=0o700)
        yield DemoFolder(path)


@contextmanager
def _only_one(path: Path) -> Iterator[None]:
    try:
        lock = lock_folder(path / _LOCK)
    except UsageError:
        raise UsageError(
            f"a demo is running in {path} already; stop it, or choose another --folder"
        ) from None
    with lock:
        yield
