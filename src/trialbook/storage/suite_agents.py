"""What a configuration says of an agent: its plugin, parameters, prompts, and the files it gets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trialbook.api import Agent
from trialbook.formats.document import Document, Pointer
from trialbook.formats.schema import check_schema
from trialbook.model.series import ONLY_SESSION
from trialbook.storage.placeholders import placeholder_fault
from trialbook.storage.suite_reading import Reading, below, value_of
from trialbook.storage.suite_tasks import TaskFile

_PLACEHOLDERS = ("task", "repetition", "session")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentPart:
    """The part of a file that names an agent, and where in the file it is.

    ``written`` are the keys, those that it takes over from elsewhere among them. ``told`` is how
    many bytes a prompt may have beside the brief.
    """

    written: Mapping[str, Any] = field(default_factory=dict)
    at: Pointer = ()
    told: int = 0


def owner_of(name: str) -> str:
    """Whose the frozen files of a configuration are."""
    return f"configuration {name}"


def check_agent(
    reading: Reading, document: Document, tasks: Sequence[TaskFile], part: AgentPart
) -> None:
    """Check the agent, its parameters, its settings, and that it can take every brief."""
    name = part.written.get("agent")
    if not isinstance(name, str) or not name:
        return
    agent = reading.plugin("agents", name, document, (*part.at, "agent"))
    parameters = part.written.get("with", {})
    if agent is not None and isinstance(parameters, dict):
        pointer: Pointer = (*part.at, "with")
        wrong = check_schema(document, agent.parameters, at=pointer, data=parameters)
        reading.problems += wrong
        if not wrong:
            _check_prompts(reading, document, agent, tasks, part)
    settings = getattr(agent, "settings", None)
    if settings:
        data = {key: value for key, value in part.written.items() if key in settings}
        schema = {"properties": settings}
        reading.problems += check_schema(document, schema, at=part.at, data=data)


def _check_prompts(
    reading: Reading, document: Document, agent: Agent, tasks: Sequence[TaskFile], part: AgentPart
) -> None:
    """Every brief has to fit into what the agent can take as a prompt, if it says how much."""
    longest = getattr(agent, "longest_prompt", None)
    most = None if longest is None else longest(part.written.get("with", {}))
    if most is None:
        return
    for task in tasks:
        length = max((one.stat().st_size for one in task.briefs if one.is_file()), default=0)
        if length + part.told > most:
            beside = f" and {part.told} for what checks say" if part.told else ""
            message = (
                f"the brief of task {task.name} is too long for an argument: {length} bytes"
                f"{beside}, and {most} fit"
            )
            hint = "give it with `prompt: file` and {prompt_file}, or with `prompt: stdin`"
            reading.at(document, (*part.at, "with"), message, hint, key=True)


def files_folders(
    reading: Reading,
    document: Document,
    tasks: Sequence[TaskFile],
    repetitions: int,
    at: Pointer = (),
) -> list[Path]:
    """The folders that ``files`` names for all trials; those that are missing are reported."""
    pointer: Pointer = (*at, "files")
    template = value_of(document, pointer, str)
    if template is None or below(reading.folder, template) is None:
        return []
    if fault := placeholder_fault(template, _PLACEHOLDERS):
        message, _, hint = fault.partition("; ")
        reading.at(document, pointer, message, hint)
        return []
    folders = [
        reading.folder / name for name in dict.fromkeys(_expanded(template, tasks, repetitions))
    ]
    if any(reading.exposes(folder) for folder in folders):
        message = "the agent would get the private part of a task"
        reading.at(document, pointer, message, "give the agent's files a folder of their own")
        return []
    missing = [reading.shown(folder) for folder in folders if not folder.is_dir()]
    if missing:
        others = f", and {len(missing) - 1} more are missing" if missing[1:] else ""
        message = f"there is no folder `{missing[0]}`{others}"
        reading.at(document, pointer, message, "add it, or correct the path")
    return [folder for folder in folders if folder.is_dir()]


def _expanded(template: str, tasks: Sequence[TaskFile], repetitions: int) -> Iterator[str]:
    for task in tasks:
        for repetition in range(1, repetitions + 1):
            for session in task.session_names or (ONLY_SESSION,):
                yield template.format(task=task.name, repetition=repetition, session=session)
