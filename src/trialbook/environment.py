"""The operator's environment, and where caches are: the door to `os.environ`.

Imports next to nothing, for what has to answer before anything else is loaded.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping


def environment() -> dict[str, str]:
    """The operator's environment variables."""
    return dict(os.environ)


def home(environ: Mapping[str, str]) -> str:
    """The operator's home folder."""
    try:
        return environ.get("HOME") or pwd.getpwuid(os.geteuid()).pw_dir
    except KeyError:
        return "/"


def cache_folder(environ: Mapping[str, str]) -> str:
    """Where downloads, templates, toolchains and answers are kept; outside any ledger."""
    if chosen := environ.get("TRIALBOOK_CACHE"):
        return os.path.abspath(chosen)  # noqa: PTH100 - pathlib is slow to import
    base = environ.get("XDG_CACHE_HOME") or f"{home(environ)}/.cache"
    return f"{base}/trialbook"
