"""Makes the reference ledger: the runs that this repository ships in ``runs/``."""

from __future__ import annotations
