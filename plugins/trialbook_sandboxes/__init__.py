"""First-party sandboxes."""

from __future__ import annotations
