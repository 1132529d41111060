"""Parameters that several clients have: each in one form, with one description."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

RETRIES = 2
"""How often a client may ask the model again, where a configuration does not say."""

NAMES: dict[str, Any] = {"type": "array", "items": {"type": "string", "minLength": 1}}

ARGUMENTS: dict[str, Any] = {
    **NAMES,
    "description": "More arguments for the client, as they are.",
}

DOTTED: dict[str, Any] = {
    "type": "object",
    "additionalProperties": {"type": ["string", "number", "boolean"]},
    "description": "More settings of the client: dotted key to value.",
}

_ELSEWHERE = "Where the model is asked, if not at the provider's own address."


def schema(**properties: Mapping[str, Any]) -> Mapping[str, Any]:
    """A schema with these parameters, and no others."""
    return {"type": "object", "additionalProperties": False, "properties": properties}


def program_schema(name: str) -> dict[str, Any]:
    """The client's program, by default ``name`` on the PATH."""
    return {
        "type": "string",
        "minLength": 1,
        "description": (
            "The client's program: a path (`~/` is the home of whoever runs the evaluation), or a "
            "name that is looked for on the PATH."
        ),
        "default": name,
    }


def url_schema(description: str = _ELSEWHERE, **more: str) -> dict[str, Any]:
    """Where the model is asked."""
    return {"type": "string", "pattern": "^https?://", **more, "description": description}


def key_schema(variable: str, description: str) -> dict[str, Any]:
    """The name of an environment variable that holds a key."""
    return {
        "type": "string",
        "pattern": "^[A-Za-z_][A-Za-z0-9_]*$",
        "default": variable,
        "description": description,
    }


def retries_schema(most: int = 10) -> dict[str, Any]:
    """How often the client may try again."""
    return {
        "type": "integer",
        "minimum": 0,
        "maximum": most,
        "default": RETRIES,
        "description": "How often the client may ask the model again after an error.",
    }


def retries_of(given: Mapping[str, Any]) -> int:
    """How often it may try again, by the configuration's parameters."""
    number: int = given.get("retries", RETRIES)
    return number
