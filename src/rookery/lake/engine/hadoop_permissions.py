"""Permissions of local files without a process for each.

Hadoop brings no native library with Spark, and without it starts `chmod` for each file and folder
that it makes: hundreds in a small run, each a few milliseconds of a processor. Java sets
permissions itself. The class is compiled by the compiler that Spark brings for its queries, and
put where Hadoop keeps the one file system that all of a JVM share.
"""

import logging
from typing import Any

from py4j.protocol import Py4JError

_CLASS = "RookeryLocalFiles"
_SOURCE = f"""
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

public class {_CLASS} extends LocalFileSystem {{
  public {_CLASS}() {{ super(new Raw()); }}

  public static class Raw extends RawLocalFileSystem {{
    public void setPermission(Path path, FsPermission wanted) throws IOException {{
      if (wanted.getStickyBit()) {{
        super.setPermission(path, wanted);
      }} else {{
        String text = wanted.getUserAction().SYMBOL + wanted.getGroupAction().SYMBOL
            + wanted.getOtherAction().SYMBOL;
        Files.setPosixFilePermissions(
            pathToFile(path).toPath(), PosixFilePermissions.fromString(text));
      }}
    }}
  }}
}}
"""
_log = logging.getLogger(__name__)


def install(jvm: Any) -> None:  # noqa: ANN401 - Py4J has no types
    """Before Spark looks for files; where it cannot be done, Hadoop's own way stays."""
    try:
        _install(jvm)
    except (Py4JError, TypeError):  # TypeError: there is no such class
        _log.debug("permissions are set by processes", exc_info=True)


def _install(jvm: Any) -> None:  # noqa: ANN401
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.cook(_SOURCE)
    settings = jvm.org.apache.hadoop.conf.Configuration()
    settings.setClassLoader(compiler.getClassLoader())
    settings.set("fs.file.impl", _CLASS)
    root = jvm.java.net.URI("file:///")
    file_system = jvm.org.apache.hadoop.fs.FileSystem
    present = file_system.get(root, settings)
    if present.getClass().getName() != _CLASS:  # it was asked for before, and is kept until closed
        present.close()
        file_system.get(root, settings)
