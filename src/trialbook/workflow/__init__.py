"""Whole jobs put together from the rooms below: evaluate, resume, grade a folder, initialise."""

from __future__ import annotations
