"""The nouns of the field as frozen values. Pure: no files, no clock, no other layer."""

from __future__ import annotations
