"""First-party agents: any command, and the replay of a recording."""

from __future__ import annotations
