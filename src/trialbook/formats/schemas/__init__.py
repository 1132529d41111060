"""The JSON Schemas of every file kind, as package data."""

from __future__ import annotations
