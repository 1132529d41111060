"""Pure numbers: counts, rates and the two views. Exact arithmetic, no files."""

from __future__ import annotations
