"""A root file system with a shell and little else, made from this host's own files."""

from __future__ import annotations

import io
import os
import re
import subprocess
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path

_TOOLS = ("/bin/sh", "/bin/cat", "/bin/ls")


def tiny_image(
    path: Path, files: Mapping[str, str] | None = None, shell: str = "", more: Sequence[str] = ()
) -> Path:
    """Write the archive: shell, cat, ls and ``more`` with their libraries, and some files."""
    with tarfile.open(path, "w") as archive:
        for name in ("bin", "etc", "proc", "dev", "sys", "run", "var", "tmp", "opt"):
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
            archive.addfile(entry)
        tools = (*_TOOLS, *more)
        found = {tool: os.path.realpath(tool) for tool in tools}
        for tool in tools:
            said = subprocess.check_output(["ldd", tool], text=True)
            found |= {lib: os.path.realpath(lib) for lib in re.findall(r"(/\S+) \(0x", said)}
        for name, source in found.items():
            data = shell.encode() if shell and name == "/bin/sh" else Path(source).read_bytes()
            _add(archive, name, data)
        for name, text in (files or {}).items():
            _add(archive, name, text.encode())
    return path


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    entry = tarfile.TarInfo(name.lstrip("/"))
    entry.size, entry.mode = len(data), 0o755
    archive.addfile(entry, io.BytesIO(data))
