"""Text to values and back: authored YAML with positions, JSON records, schemas, patches."""

from __future__ import annotations
