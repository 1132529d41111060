"""Artifacts to grades, and grades to an outcome. Never starts an agent."""

from __future__ import annotations
