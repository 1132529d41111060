"""A grader as a task uses it: which one, with which parameters, and whether agents may know."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class GraderUse:
    """One grader of a task, by plugin name, with its parameters as written (plain JSON values).

    ``visible`` says that agents may know its questions and answers: nothing of it is private.
    """

    grader: str
    parameters: dict[str, Any] = field(default_factory=dict)
    visible: bool = False
