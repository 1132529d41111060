"""The command line: one module a command: parse, one call, print."""

from __future__ import annotations
