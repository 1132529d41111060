"""How much a *no* weighs for people."""

from __future__ import annotations

from enum import StrEnum


class Severity(StrEnum):
    """How much a check's *no* weighs for people. It never changes a score."""

    MUST = "must"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
