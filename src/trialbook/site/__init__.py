"""The static site: pages from what reporting computes."""

from __future__ import annotations
