"""Digests: always sha256 in lower-case hexadecimal, over bytes as they are in git."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping


def sha256(data: bytes) -> str:
    """The digest of some bytes."""
    return hashlib.sha256(data).hexdigest()


def digest_of_files(files: Mapping[str, str]) -> str:
    """One digest for a set of files: sha256 over ``<sha256> <path>`` lines sorted by path."""
    lines = "".join(f"{files[path]} {path}\n" for path in sorted(files, key=str.encode))
    return sha256(lines.encode())
