"""Measures what trialbook costs, against plain git doing the same work in the same run."""

from __future__ import annotations
