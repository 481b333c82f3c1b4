"""`python -m rookery.lake.package FOLDER`: what spark-submit needs, to be carried to a cluster.

FOLDER/rookery.zip      for --py-files: this package, as it is installed here
FOLDER/rookery_lake.py  the program
"""

import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple
from zipfile import ZIP_DEFLATED, ZipFile

import rookery

_PROGRAM = '''"""Run by spark-submit, with rookery.zip as --py-files."""

import sys

from rookery.lake.submit import main

sys.exit(main())
'''


class Package(NamedTuple):
    """Both files."""

    archive: Path
    program: Path


def write(folder: Path) -> Package:
    """Sources only: they run wherever Python does."""
    folder.mkdir(parents=True, exist_ok=True)
    package = Package(folder / "rookery.zip", folder / "rookery_lake.py")
    assert rookery.__file__ is not None
    root = Path(rookery.__file__).parent
    with ZipFile(package.archive, "w", ZIP_DEFLATED) as archive:
        for source in sorted(root.rglob("*.py")):
            archive.write(source, Path("rookery") / source.relative_to(root))
        number = version("rookery")
        # By this the code knows its version, there as here.
        metadata = f"Metadata-Version: 2.1\nName: rookery\nVersion: {number}\n"
        archive.writestr(f"rookery-{number}.dist-info/METADATA", metadata)
    package.program.write_text(_PROGRAM)
    return package


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)  # noqa: T201 (this is a program)
        return 2
    for path in write(Path(arguments[0])):
        print(path)  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
