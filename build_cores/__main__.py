"""`python -m build_cores`."""

import argparse
import shutil
import sys
from pathlib import Path

import build_cores
from build_cores.library import build, present
from build_cores.toolchain import CannotCompileError, missing


def main() -> None:
    """Compile, and say where it is or why it cannot be."""
    parser = argparse.ArgumentParser(
        prog="python -m build_cores",
        description=build_cores.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path, nargs="?", metavar="FOLDER")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.check:
        sys.exit(missing())
    try:
        extension_modules = build()
    except CannotCompileError as error:
        if options.folder is None:
            sys.exit(str(error))
        shutil.rmtree(options.folder, ignore_errors=True)  # it may be of other sources
        sys.exit(f"rookery is not compiled and will be slower: {error}")
    if options.folder is None:
        print(extension_modules)
    else:
        present(options.folder, extension_modules)


if __name__ == "__main__":
    main()
