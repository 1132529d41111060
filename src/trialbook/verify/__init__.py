"""Whether a ledger can be believed: its history, its objects, and whether its records agree."""

from __future__ import annotations
