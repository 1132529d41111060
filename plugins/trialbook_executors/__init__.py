"""First-party executors."""

from __future__ import annotations
