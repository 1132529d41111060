"""Placeholders in braces, in the paths and arguments that a suite writes."""

from __future__ import annotations

import string
from collections.abc import Sequence

from trialbook.formats.nearest import nearest


def placeholder_fault(text: str, known: Sequence[str]) -> str:
    """What is wrong with the placeholders in a text, and what to do; empty if nothing is."""
    listed = ", ".join(f"{{{name}}}" for name in known)
    try:
        parts = list(string.Formatter().parse(text))
    except ValueError:
        return f"there is a lone brace; placeholders are {listed}, and braces are doubled"
    for _, name, form, conversion in parts:
        if name is not None and (name not in known or form or conversion):
            near = nearest(name, [one for one in known if one != name])
            return f"unknown placeholder `{{{name}}}`; {near or f'known are {listed}'}"
    return ""


def placeholders(text: str) -> set[str]:
    """The placeholders in a text that has no fault."""
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}
