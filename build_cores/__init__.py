"""Compiles the modules that a busy node spends its time in, from the sources that run without it.

    python -m build_cores           compile them; prints the folder that holds them
    python -m build_cores FOLDER    and make FOLDER the whole package with them, for PYTHONPATH
    python -m build_cores --check   only say what is missing, if anything

What was compiled is kept in build/cores, for each Python, compiler and set of flags, and made again
as far as sources have changed. CC, CFLAGS and LDFLAGS have their usual meaning.
docs/decisions/0028-compiled-as-installed.md says how these modules are written.
"""
