"""The image that containers start from: empty folders and links, into which the host's are bound.

It is made on the spot, so that no registry is needed, and is the same bytes on hosts alike.
"""

from __future__ import annotations

import hashlib
import io
import tarfile

from trialbook_sandboxes.mounts import system_folders, system_links

_FOLDERS = ("dev", "etc", "proc", "run", "sys", "usr", "var")
_REPOSITORY = "localhost/trialbook-skeleton"


def skeleton() -> bytes:
    """The image's files as a tar archive."""
    folders = {*_FOLDERS, *(str(path).lstrip("/") for path in system_folders())}
    links = {"var/tmp": "../tmp", **{path.lstrip("/"): says for says, path in system_links()}}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name in sorted(folders):
            archive.addfile(_entry(name, tarfile.DIRTYPE, 0o755))
        # Some engines leave the mode of a mount there as they find it.
        archive.addfile(_entry("tmp", tarfile.DIRTYPE, 0o1777))
        for name, says in sorted(links.items()):
            entry = _entry(name, tarfile.SYMTYPE, 0o777)
            entry.linkname = says
            archive.addfile(entry)
    return buffer.getvalue()


def image_name(archive: bytes) -> str:
    """What the image is called: another name for other files."""
    return f"{_REPOSITORY}:{hashlib.sha256(archive).hexdigest()[:12]}"


def _entry(name: str, kind: bytes, mode: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type = kind
    entry.mode = mode
    return entry
