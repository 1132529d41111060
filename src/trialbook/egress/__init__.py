"""The way out of a sandbox: a proxy that lets the hosts of a list through, and its log."""

from __future__ import annotations
