"""The second attempt that a configuration may make: checking what is declared, and its value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from trialbook.formats.authored import read_document
from trialbook.formats.document import Document, Pointer
from trialbook.formats.nearest import nearest
from trialbook.model.escalation import MOST_TOLD, SHARED_LIMITS, TELL_CHECKS, Condition
from trialbook.model.suite import Configuration, Escalation, GivenLimits
from trialbook.storage.suite_agents import AgentPart, check_agent, files_folders, owner_of
from trialbook.storage.suite_reading import Reading, below, mapping_of, name_fault, value_of
from trialbook.storage.suite_tasks import TaskFile

_AT: Pointer = ("escalate",)
_TO: Pointer = ("escalate", "to")
# What surrounds the agent is the trial's, and the same in both attempts.
_SHARED = ("instructions", "sandbox", "network")
# Words of a client; another client has others.
_OF_A_CLIENT = ("version", "model", "reasoning", "approval", "with", "files", "readable")


def check_escalation(
    reading: Reading, document: Document, tasks: Sequence[TaskFile], repetitions: int
) -> None:
    """Check what a configuration escalates to, and that what it waits for can be answered."""
    escalate = value_of(document, _AT, dict)
    if escalate is None:
        return
    written = mapping_of(document)
    told = MOST_TOLD if escalate.get("tell") == TELL_CHECKS else 0
    _check_checks(reading, document, tasks)
    if written.get("gives_reference") is True:
        message = "an agent that is handed the reference needs no second attempt"
        reading.at(document, _AT, message, "remove `escalate` or `gives_reference`", key=True)
    if value_of(document, _TO, str) is not None:
        _check_named(reading, document, tasks, repetitions, told)
    elif value_of(document, _TO, dict) is not None:
        inline = _over(written, escalate["to"])
        part = AgentPart(written=inline, at=_TO, told=told)
        check_agent(reading, document, tasks, part)
        owner = owner_of(document_name(document))
        for folder in files_folders(reading, document, tasks, repetitions, _TO):
            reading.freeze(owner, folder)


def document_name(document: Document) -> str:
    """The configuration's name, as its file is called."""
    return document.path.rpartition("/")[2].removesuffix(".yaml")


def _check_checks(reading: Reading, document: Document, tasks: Sequence[TaskFile]) -> None:
    """Every task needs checks that agents may know, where those decide or are told."""
    when = value_of(document, (*_AT, "when"), list) or []
    tells = value_of(document, (*_AT, "tell"), str) == TELL_CHECKS
    if tells and Condition.CHECKS_FAIL not in when:
        message = "there is nothing to tell: the checks are only asked for `when: [checks_fail]`"
        reading.at(document, (*_AT, "tell"), message, "add it to `when`, or remove `tell`")
    if Condition.CHECKS_FAIL not in when:
        return
    without = [task.name for task in tasks if not any(use.visible for use in task.graders)]
    if without:
        message = f"there are no checks that an agent may know in task {', '.join(without)}"
        hint = (
            "add the grader `checks` to the task, with a file outside of `private/`; acceptance "
            "tests are hidden, and never decide whether a workflow goes on"
        )
        place = when.index(Condition.CHECKS_FAIL)
        reading.at(document, (*_AT, "when", place), message, hint)


def _check_named(
    reading: Reading, document: Document, tasks: Sequence[TaskFile], repetitions: int, told: int
) -> None:
    """Check a second attempt that is another configuration of the suite."""
    name = value_of(document, _TO, str)
    own = document_name(document)
    path = below(reading.folder / "configurations", f"{name}.yaml")
    if path is None or name_fault(name):
        return
    if name == own:
        message = "a configuration cannot escalate to itself"
        reading.at(document, _TO, message, "name another one, or write what is different")
        return
    known = sorted(one.stem for one in path.parent.glob("*.yaml"))
    if not path.is_file():
        hint = nearest(name, known) or f"add configurations/{name}.yaml"
        reading.at(document, _TO, f"there is no configuration `{name}`", hint)
        return
    other, problems = read_document(path, reading.shown(path))
    if other is None or problems or not reading.confined(path):
        return  # What is wrong with it is told where it is read for itself.
    reading.freeze(owner_of(own), path)
    for folder in files_folders(reading, other, tasks, repetitions):
        reading.freeze(owner_of(own), folder)
    _check_together(reading, document, other, name)
    if told:
        check_agent(reading, other, tasks, AgentPart(written=mapping_of(other), told=told))


def _check_together(reading: Reading, document: Document, other: Document, name: str) -> None:
    """Check that both attempts can be made in one trial."""
    mine, its = mapping_of(document), mapping_of(other)
    if "escalate" in its:
        message = f"`{name}` escalates itself, and a trial has two attempts at most"
        reading.at(document, _TO, message, "name a configuration that does not")
    if its.get("gives_reference") is True:
        message = f"`{name}` is handed the reference, which no second attempt may be"
        reading.at(document, _TO, message, "name another configuration")
    for key in _SHARED:
        if mine.get(key) != its.get(key):
            message = f"`{name}` has another `{key}` than this configuration"
            hint = f"give both the same `{key}`: both attempts are made in one workspace and room"
            reading.at(document, _TO, message, hint)


def build_escalation(
    escalate: Mapping[str, Any], first: Configuration, named: Configuration | None
) -> Escalation:
    """The value of what was declared.

    Args:
        escalate: The part of the file.
        first: The configuration that it stands in.
        named: The configuration that it names, if it names one.
    """
    to = named or _inline(escalate["to"], first)
    return Escalation(
        when=tuple(one for one in Condition if one in escalate["when"]),
        to=replace(to, limits=_own(to.limits), digests={}),
        workspace=escalate["workspace"],
        tell=escalate.get("tell"),
        first_limits=_own(escalate.get("first_limits")),
    )


def _inline(written: Mapping[str, Any], first: Configuration) -> Configuration:
    base = first
    if written.get("agent", first.agent) != first.agent:
        base = replace(
            first,
            version=None,
            model=None,
            reasoning=None,
            approval=None,
            parameters={},
            files=None,
            readable=(),
            credential_files=(),
        )
    return replace(
        base,
        name=f"{first.name}.second",
        description="",
        agent=written.get("agent", base.agent),
        version=written.get("version", base.version),
        model=written.get("model", base.model),
        reasoning=written.get("reasoning", base.reasoning),
        approval=written.get("approval", base.approval),
        parameters=written.get("with", base.parameters),
        files=written.get("files", base.files),
        readable=tuple(written.get("readable", base.readable)),
        limits=written.get("limits"),
    )


def _over(first: Mapping[str, Any], inline: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a second attempt: its own, and those of the first that still mean something."""
    same = inline.get("agent", first.get("agent")) == first.get("agent")
    kept = {key: first[key] for key in _OF_A_CLIENT if same and key in first}
    return {"agent": first.get("agent"), **kept, **inline}


def _own(limits: GivenLimits | None) -> GivenLimits | None:
    """Those limits that an attempt has of its own; the others are the trial's."""
    own = {key: value for key, value in (limits or {}).items() if key in SHARED_LIMITS}
    return own or None
