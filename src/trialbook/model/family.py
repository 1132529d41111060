"""Which family a model belongs to, by its name: whose models favour their own kind, perhaps."""

from __future__ import annotations

import re

_FAMILIES = (
    ("claude", r"claude|\bopus\b|\bsonnet\b|\bhaiku\b"),
    ("gpt", r"gpt|codex|davinci|\bo[1-9](?:-|$)"),
    ("gemini", r"gemini|gemma|palm"),
    ("llama", r"llama"),
    ("qwen", r"qwen|qwq"),
    ("deepseek", r"deepseek"),
    ("mistral", r"mistral|mixtral|devstral|codestral|magistral"),
    ("grok", r"grok"),
    ("kimi", r"kimi|moonshot"),
    ("glm", r"\bglm"),
)
_KNOWN = tuple((name, re.compile(pattern)) for name, pattern in _FAMILIES)


def family_of(model: str | None) -> str | None:
    """The family of a model; None if its name does not tell."""
    name = (model or "").lower()
    return next((family for family, pattern in _KNOWN if pattern.search(name)), None)


def same_family(one: str | None, other: str | None) -> bool | None:
    """Whether two models are of one family; None if that of either is not known."""
    families = family_of(one), family_of(other)
    return None if None in families else families[0] == families[1]
