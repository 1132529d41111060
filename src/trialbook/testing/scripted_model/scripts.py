"""Scripts: read from files, checked, and asked for the step that answers a request."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trialbook.testing.scripted_model.answers import Json
from trialbook.testing.scripted_model.protocols import answers_so_far

DEFAULT = "default"
"""The model whose script counts for those that have none."""

SIDE = -1
"""The place of an answer that belongs to no script."""

_KEYS = {*("text", "json", "tools", "usage", "stop", "sleep", "hang", "status", "body")}
_NO_SCRIPT = "no script is for this request"


class ScriptError(ValueError):
    """A file of scripts has a mistake."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """The steps that answer a request, if ``when`` stands in it."""

    when: str
    steps: Sequence[Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scripts:
    """The scenes of each model, by its name."""

    scenes: Mapping[str, Sequence[Scene]]

    def step(self, protocol: str, model: str, body: Mapping[str, Any]) -> tuple[int, Json]:
        """Which step answers a request, and its place in its script."""
        known = self.scenes.get(model) or self.scenes.get(DEFAULT, ())
        if not known:
            return SIDE, _side(body) or _missing(f"model {model}")
        said = json.dumps(body, ensure_ascii=False)
        scene = next((one for one in known if one.when in said), None)
        if scene is None:
            return SIDE, _side(body) or _missing(f"what {model} was asked")
        if any(step.get("tools") for step in scene.steps) and (answer := _side(body)):
            return SIDE, answer
        place = min(answers_so_far(protocol, body), len(scene.steps) - 1)
        return place, scene.steps[place]


def _side(body: Mapping[str, Any]) -> Json:
    """The answer to a request beside the work, a title say, which offers no tools."""
    return {} if body.get("tools") else {"text": "ok"}


def _missing(what: str) -> Json:
    error = {"type": "invalid_request_error", "message": f"{_NO_SCRIPT}: {what}"}
    return {"status": 400, "body": {"type": "error", "error": error}}


def read_scripts(paths: Iterable[Path]) -> Scripts:
    """Read files of scripts, and all of those in folders.

    Raises:
        ScriptError: one cannot be read, has a mistake, or names a model that another one has.
    """
    scenes: dict[str, Sequence[Scene]] = {}
    for path in paths:
        for file in sorted(path.glob("*.json")) if path.is_dir() else (path,):
            for model, written in _models(file).items():
                if model in scenes:
                    raise ScriptError(f"{file}: {model} has a script already")
                scenes[model] = _scenes(written, f"{file}: {model}")
    return Scripts(scenes=scenes)


def _models(file: Path) -> Json:
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ScriptError(f"{file}: {error}") from error
    if not isinstance(data, dict):
        raise ScriptError(f"{file}: it has to map the names of models to their scripts")
    return data


def _scenes(written: object, where: str) -> Sequence[Scene]:
    if not isinstance(written, list) or not written:
        raise ScriptError(f"{where}: a script is a list of steps, and has one at least")
    if not all(isinstance(one, dict) and "steps" in one for one in written):
        return (Scene(when="", steps=_steps(written, where)),)
    found = []
    for number, one in enumerate(written, 1):
        here = f"{where}, scene {number}"
        if set(one) - {"when", "steps"} or not isinstance(one.get("when"), str):
            raise ScriptError(f"{here}: it has the keys `when`, a text, and `steps`")
        found.append(Scene(when=one["when"], steps=_steps(one["steps"], here)))
    return found


def _steps(written: object, where: str) -> list[Json]:
    if not isinstance(written, list) or not written:
        raise ScriptError(f"{where}: it has no steps")
    for number, step in enumerate(written, 1):
        unknown = sorted(set(step) - _KEYS) if isinstance(step, dict) else ["no mapping"]
        if unknown:
            raise ScriptError(f"{where}, step {number}: {unknown[0]} is not known")
    return written
