"""Source distributions from the package index: fetched once by pip, kept by digest, used offline.

Which index is asked is the operator's choice, in pip's own configuration and environment.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from trialbook.errors import EnvironmentProblem, Refused
from trialbook.process import ToolResult, tool
from trialbook.storage.disk import doing
from trialbook.storage.files import fresh_folder, remove_tree
from trialbook.storage.locks import exclusive

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.!+_-]*")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_OTHER_FILE = b"DO NOT MATCH THE HASHES"
_TIMEOUT_SECONDS = 900.0


def fetch_sdist(
    name: str, version: str, sha256: str, *, cache: Path, environ: Mapping[str, str]
) -> Path:
    """The archive of a package's source distribution, from the cache or else from the index.

    Args:
        name: The package's name.
        version: Its exact version.
        sha256: The digest that the archive must have.
        cache: The cache folder; the archive is kept in ``downloads/<sha256>/``.
        environ: The environment for pip.

    Raises:
        Refused: name, version or digest are malformed, or the index has another file.
        EnvironmentProblem: it is not in the cache and cannot be fetched.
    """
    for pattern, value in ((_NAME, name), (_VERSION, version), (_SHA256, sha256)):
        if not pattern.fullmatch(value):
            raise Refused(f"{value!r} cannot be part of a pinned package: name, version, sha256")
    downloads = cache / "downloads"
    folder = downloads / sha256
    keeping = f"keep {name} {version} in {downloads}"
    with doing(keeping), exclusive(downloads / f"{sha256}.lock"):
        found = _kept(folder, sha256)
        if found is not None:
            return found
        with fresh_folder(downloads) as scratch:
            fetched = _download(name, version, sha256, scratch, environ)
            kept = scratch / "kept"
            kept.mkdir()
            fetched.rename(kept / fetched.name)
            remove_tree(folder)
            kept.rename(folder)
        return folder / fetched.name


def _kept(folder: Path, sha256: str) -> Path | None:
    """The one file of a folder, if it has that digest."""
    files = list(folder.iterdir()) if folder.is_dir() else []
    if len(files) != 1 or not files[0].is_file():
        return None
    return files[0] if _sha256(files[0]) == sha256 else None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _download(
    name: str, version: str, sha256: str, scratch: Path, environ: Mapping[str, str]
) -> Path:
    wanted = f"{name} {version}"
    requirements = scratch / "requirements.txt"
    requirements.write_text(f"{name}=={version} --hash=sha256:{sha256}\n")
    target = scratch / "files"
    target.mkdir()
    # Only the package itself has to come as source; what pip needs to build its metadata may not.
    options = ["--no-deps", "--no-binary", name, "--require-hashes", "--dest", str(target)]
    quiet = ["--quiet", "--no-input", "--progress-bar", "off", "--disable-pip-version-check"]
    result = tool(
        [sys.executable, "-I", "-m", "pip", "download", *quiet, *options, "-r", str(requirements)],
        cwd=scratch,
        environment=environ,
        timeout=_TIMEOUT_SECONDS,
    )
    if _OTHER_FILE in result.stderr:
        raise Refused(
            f"the index has no source distribution of {wanted} with sha256 {sha256}",
            hint="compare the digest in the task with the one that the index shows",
        )
    files = list(target.iterdir())
    if result.code != 0 or len(files) != 1:
        raise EnvironmentProblem(
            f"{wanted} needs the package index once: {_reason(result)}",
            hint="connect once, or point pip to an index that has it (PIP_INDEX_URL, "
            "PIP_FIND_LINKS); after that it comes from the cache",
        )
    if _sha256(files[0]) != sha256:
        raise Refused(f"pip fetched another file for {wanted} than the one with sha256 {sha256}")
    return files[0]


def _reason(result: ToolResult) -> str:
    errors = [line for line in result.stderr.splitlines() if line.startswith(b"ERROR: ")]
    shortened = replace(result, stderr=b"".join(errors[-1:]) or result.stderr[-1000:])
    return shortened.complaint or f"pip ended with status {result.code}"
