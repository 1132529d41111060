"""Files and git: suites read, caches kept, the ledger appended to and read."""

from __future__ import annotations
