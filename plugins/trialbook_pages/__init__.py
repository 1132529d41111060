"""First-party pages of the site: the documentation."""

from __future__ import annotations
