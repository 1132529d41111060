"""A git-native ledger of coding-agent evaluations. Importing this package has no effect."""

from __future__ import annotations

__version__ = "0.1.0"
