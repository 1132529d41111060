"""Reads ATIF as a trajectory of ours: what trialbook wrote comes back as it was.

Of other programs' documents, what a tool was used for is told by its name and its arguments. What
the form has no place for is left out, and said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from trialbook.errors import Problem, UserError
from trialbook.formats.atif import Fault, atif_faults, is_metrics
from trialbook.formats.atif_steps import DEFAULTS, DONE, LEFT_OVER, OURS, usage_of
from trialbook.formats.records import RecordError, from_plain, to_json
from trialbook.model.trajectory import Event, EventKind, Trajectory, bounded

_TOOLS = {
    EventKind.COMMAND: {
        *("bash", "shell", "sh", "execute", "exec", "exec_command", "run_command", "terminal"),
        *("run_shell_command", "bash_command", "execute_bash", "local_shell", "keystrokes"),
    },
    EventKind.READ: {"read", "read_file", "view", "cat", "open", "open_file", "view_file"},
    EventKind.WRITE: {
        *("write", "edit", "write_file", "edit_file", "multiedit", "replace", "create_file"),
        *("apply_patch", "str_replace", "str_replace_editor", "insert", "patch"),
    },
    EventKind.SEARCH: {"grep", "glob", "ls", "search", "find", "list_files", "websearch"},
}
_KINDS = {name: kind for kind, names in _TOOLS.items() for name in names}
_COMMANDS = ("command", "cmd", "keystrokes", "script")
_PATHS = ("file_path", "path", "filePath", "filename", "file", "target_file")
_NOT_HELD = ("notes", "continued_trajectory_ref", "final_metrics")
_NOT_HELD_IN_STEPS = ("reasoning_effort", "is_copied_context")
_NOT_HELD_OF_CALLS = ("prompt_token_ids", "completion_token_ids", "logprobs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """A trajectory, and what of the document it has no place for, with how often it was there."""

    trajectory: Trajectory
    left_out: dict[str, int]


def from_atif(data: object, shown: str) -> Imported:
    """Read a document.

    Args:
        data: The JSON value.
        shown: What messages call it.

    Raises:
        UserError: it breaks rules of the format; every one is named, with its place.
    """
    faults = atif_faults(data)
    if faults or not isinstance(data, dict):
        raise _refusal(faults, shown)
    reader = _Reader()
    events = tuple(reader.document(data, None, "$"))
    if reader.faults:
        raise _refusal(reader.faults, shown)
    agent, ours = data["agent"], _ours(data)
    fields: dict[str, Any] = {
        "client": agent["name"],
        "client_version": agent.get("version"),
        "session_id": data.get("session_id"),
        "model": agent.get("model_name"),
    }
    known = ("client_version", "session_id", "source", "truncated")
    fields |= {name: ours[name] for name in (*known, *_COUNTS) if name in ours}
    if reader.others:
        events = tuple(replace(event, number=n) for n, event in enumerate(events, 1))
    plain: dict[str, Any] = {**fields, "events": []}
    try:
        made = from_plain(Trajectory, plain, f"{shown}: $.extra.{OURS}")
    except RecordError as error:
        raise UserError(str(error)) from error
    trajectory = replace(made, events=events)
    if reader.others:
        trajectory = bounded(trajectory)
    try:
        to_json(trajectory)
    except ValueError as error:
        raise UserError(f"{shown} holds a text or a number that no file can: {error}") from error
    return Imported(trajectory=trajectory, left_out=dict(sorted(reader.left_out.items())))


_COUNTS = ("unknown_events", "omitted_events")


def _refusal(faults: list[Fault], shown: str) -> UserError:
    problems = [Problem(path=f"{shown}: {one.where}", message=one.message) for one in faults]
    return UserError(f"{shown} is not valid ATIF", problems=problems)


def _ours(value: Mapping[str, Any]) -> Mapping[str, Any]:
    extra = value.get("extra")
    found = extra.get(OURS) if isinstance(extra, dict) else None
    return found if isinstance(found, dict) else {}


@dataclass(slots=True)
class _Reader:
    """Goes through a valid document, sub-agents where they are spoken of."""

    faults: list[Fault] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    turns: int = 0
    others: bool = False

    def document(self, data: Mapping[str, Any], agent: str | None, where: str) -> Iterator[Event]:
        """All events of a document, in order."""
        self._count(data, _NOT_HELD if "extra" not in data or not _ours(data) else ())
        if data["agent"].get("tool_definitions"):
            self.left_out["agent.tool_definitions"] += 1
        inner = {one["trajectory_id"]: one for one in data.get("subagent_trajectories") or ()}
        for number, step in enumerate(data["steps"]):
            at = f"{where}.steps[{number}]"
            kept = _ours(step).get("events")
            if kept is None:
                self.others = True
                yield from self._others(step, agent)
            else:
                yield from self._back(step, kept, f"{at}.extra.{OURS}.events")
            for name in _spoken_of(step):
                if name in inner:
                    below = f"{where}.subagent_trajectories"
                    yield from self.document(inner.pop(name), name, below)
        for name, one in inner.items():
            yield from self.document(one, name, f"{where}.subagent_trajectories")

    def _count(self, value: Mapping[str, Any], names: tuple[str, ...]) -> None:
        self.left_out.update(name for name in names if value.get(name) is not None)

    # --- what we wrote ---------------------------------------------------------------------------

    def _back(self, step: Mapping[str, Any], kept: Any, where: str) -> Iterator[Event]:  # noqa: ANN401
        """The events that a step was made from."""
        calls = iter(step.get("tool_calls") or ())
        outputs = _outputs(step)
        used = step.get("metrics")
        for number, one in enumerate(kept if isinstance(kept, list) else (kept,)):
            try:
                event = _restored(one, step, calls, outputs)
            except (RecordError, StopIteration, TypeError, ValueError) as error:
                what = str(error) or "there are fewer tool calls than events"
                at = f"{where}[{number}]"
                self.faults.append(Fault(where=at, message=f"does not fit its step: {what}"))
                return
            yield event if used is None else replace(event, usage=usage_of(used))
            used = None
        if next(calls, None) is not None:
            message = "does not fit its step: there are more tool calls than events"
            self.faults.append(Fault(where=where, message=message))

    # --- what others wrote -----------------------------------------------------------------------

    def _others(self, step: Mapping[str, Any], agent: str | None) -> Iterator[Event]:
        self._count(step, _NOT_HELD_IN_STEPS)
        about: dict[str, Any] = {"number": 0, "at": step.get("timestamp"), "agent": agent}
        message, outputs = self._text(step["message"]), _outputs(step)
        if step["source"] != "agent":
            kind = EventKind.PROMPT if step["source"] == "user" else EventKind.NOTICE
            yield Event(kind=kind, text=message, **about)
        else:
            yield from self._agents(step, message, outputs, about)
        for content in outputs.values():
            yield Event(kind=EventKind.NOTICE, output=self._text(content), **about)

    def _agents(
        self,
        step: Mapping[str, Any],
        message: str,
        outputs: dict[str | None, Any],
        about: dict[str, Any],
    ) -> Iterator[Event]:
        if step.get("llm_call_count") != 0 or not self.turns:
            self.turns += 1
        about = {**about, "turn": self.turns}
        metrics = step.get("metrics")
        if metrics is not None:
            self._count(metrics, _NOT_HELD_OF_CALLS)
            about["usage"] = usage_of(metrics)
        calls = step.get("tool_calls") or ()
        thought = step.get("reasoning_content")
        if thought is not None:
            yield Event(kind=EventKind.REASONING, text=thought, **about)
            about.pop("usage", None)
        if message or (thought is None and not calls):
            yield Event(kind=EventKind.MESSAGE, text=message, **about)
            about.pop("usage", None)
        for call in calls:
            name = call["tool_call_id"]
            # What came back without saying of which call is of the only one there is.
            place = name if name in outputs or len(calls) > 1 else None
            output = self._text(outputs.pop(place)) if place in outputs else None
            yield Event(**_call(call), output=output, **about)
            about.pop("usage", None)

    def _text(self, content: Any) -> str:  # noqa: ANN401 - a text or parts
        if isinstance(content, str):
            return content
        texts = []
        for part in content or ():
            if part["type"] == "text":
                texts.append(part["text"])
            else:
                self.left_out[f"parts of type {part['type']}"] += 1
                texts.append(f"[{part['type']}: {part['source']['path']}]")
        return "\n".join(texts)


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    """What a call of a tool means, by its name and what it was given."""
    name, given = call["function_name"], call["arguments"]
    kind = _KINDS.get(name.lower(), EventKind.TOOL)
    return {
        "kind": kind,
        "tool": name,
        "call": call["tool_call_id"],
        "arguments": given,
        "command": _first(given, _COMMANDS) if kind is EventKind.COMMAND else None,
        "path": None if kind is EventKind.COMMAND else _first(given, _PATHS),
    }


def _first(given: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    for name in names:
        value = given.get(name)
        if isinstance(value, str):
            return value
        if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
            return " ".join(value)
    return None


def _outputs(step: Mapping[str, Any]) -> dict[str | None, Any]:
    """What came back, by the call that it is said to be of; several of one call are one."""
    found: dict[str | None, Any] = {}
    observation = step.get("observation")
    for result in (observation or {}).get("results", ()):
        source, content = result.get("source_call_id"), result.get("content")
        if content is None:
            continue
        before = found.get(source)
        found[source] = content if before is None else [*_parts(before), *_parts(content)]
    return found


def _parts(content: Any) -> list[Any]:  # noqa: ANN401 - a text or parts
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _spoken_of(step: Mapping[str, Any]) -> Iterator[str]:
    observation = step.get("observation")
    for result in (observation or {}).get("results", ()):
        for reference in result.get("subagent_trajectory_ref") or ():
            name = reference.get("trajectory_id")
            if isinstance(name, str):
                yield name


def _restored(
    kept: Any,  # noqa: ANN401 - whatever stands there
    step: Mapping[str, Any],
    calls: Iterator[Mapping[str, Any]],
    outputs: dict[str | None, Any],
) -> Event:
    if not isinstance(kept, dict):
        raise TypeError("it is no object")
    without = kept.get("without", [])
    kind = EventKind(kept.get("kind", ""))
    values: dict[str, Any] = {"number": DEFAULTS.number, "kind": kind.value}
    if "timestamp" in step:
        values["at"] = step["timestamp"]
    if kind in DONE:
        call = next(calls)
        output = outputs.get(call["tool_call_id"])
        values |= {"tool": call["function_name"], "arguments": call["arguments"]}
        values["output"] = output
    elif kind is EventKind.REASONING:
        values["text"] = step.get("reasoning_content", "")
    else:
        values["text"] = step["message"]
    values |= {name: kept[name] for name in LEFT_OVER if name in kept}
    values |= dict.fromkeys((name for name in without if name in LEFT_OVER), None)
    made = from_plain(Event, values, "event")
    used = kept.get("usage")
    if used is None:
        return made
    if not is_metrics(used):
        raise ValueError("its usage is none")
    return replace(made, usage=usage_of(used))
