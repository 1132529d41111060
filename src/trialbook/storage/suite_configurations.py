"""Configurations of a suite: checking one with all that it names, and building its value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from trialbook.formats.document import Document, Pointer
from trialbook.model.credentials import CredentialFile
from trialbook.model.hosts import HostError, parse_entry
from trialbook.model.instructions import InstructionsFrom
from trialbook.model.suite import ALLOW, Configuration, Network
from trialbook.storage.suite_agents import AgentPart, check_agent, files_folders, owner_of
from trialbook.storage.suite_escalations import build_escalation, check_escalation
from trialbook.storage.suite_reading import Reading, below, mapping_of, value_of
from trialbook.storage.suite_tasks import TaskFile


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigurationFile:
    """A configuration that was read, with or without mistakes."""

    name: str
    document: Document


def configuration_files(suite_folder: Path) -> list[Path]:
    """The files in ``configurations/`` that are, or look like, YAML."""
    folder = suite_folder / "configurations"
    if not folder.is_dir():
        return []
    return sorted(
        path
        for path in folder.iterdir()
        if path.suffix in {".yaml", ".yml"} and not path.name.startswith(".")
    )


def check_configuration(
    reading: Reading, path: Path, tasks: Sequence[TaskFile], repetitions: int
) -> ConfigurationFile | None:
    """Check a configuration and everything that it names; None if it cannot be read."""
    if path.suffix == ".yml":
        reading.add(path, "this file is not looked at", f"rename it to {path.stem}.yaml")
        return None
    reading.named(path, path.stem)
    document = reading.document(path, "configuration")
    if document is None:
        return None
    name = value_of(document, ("configuration",), str)
    if name is not None and name != path.stem:
        message = f"the configuration is called `{name}`, but its file `{path.name}`"
        reading.at(document, ("configuration",), message, "rename one of the two")
    owner = owner_of(path.stem)
    reading.freeze(owner, path)
    _check_plugins(reading, document, tasks)
    check_escalation(reading, document, tasks, repetitions)
    instructions = value_of(document, ("instructions",), str)
    folder = below(reading.folder / "instructions", instructions)
    if folder is not None and reading.found(document, ("instructions",), folder, folder=True):
        reading.freeze(owner, folder)
    for folder in files_folders(reading, document, tasks, repetitions):
        reading.freeze(owner, folder)
    _check_hosts(reading, document)
    _check_reference(reading, document, tasks)
    _check_credentials(reading, document)
    secrets = value_of(document, ("secrets",), list) or []
    for variable in value_of(document, ("environment",), dict) or {}:
        if variable in secrets:
            message = f"`{variable}` is a secret, so its value must not be written here"
            reading.at(document, ("environment", variable), message, "remove it", key=True)
    return ConfigurationFile(name=path.stem, document=document)


def build_configuration(
    reading: Reading, file: ConfigurationFile, others: Mapping[str, ConfigurationFile]
) -> Configuration:
    """The value of a configuration without mistakes; ``others`` are all of the suite by name."""
    alone = _build(reading, file)
    escalate = mapping_of(file.document).get("escalate")
    if escalate is None:
        return alone
    named = escalate["to"]
    other = _build(reading, others[named]) if isinstance(named, str) else None
    return replace(alone, escalation=build_escalation(escalate, alone, other))


def _build(reading: Reading, file: ConfigurationFile) -> Configuration:
    """A configuration without what it escalates to."""
    written = mapping_of(file.document)
    return Configuration(
        name=file.name,
        agent=written["agent"],
        version=written.get("version"),
        model=written.get("model"),
        reasoning=written.get("reasoning"),
        instructions=_text_or_none(written.get("instructions")),
        instructions_from=_instructions_from(written.get("instructions")),
        approval=written.get("approval"),
        sandbox=written.get("sandbox"),
        network=_network(written.get("network", "open")),
        environment=dict(written.get("environment", {})),
        pass_environment=tuple(written.get("pass_environment", ())),
        secrets=tuple(written.get("secrets", ())),
        credential_files=tuple(
            CredentialFile(source=one["from"], to=one["to"])
            for one in written.get("credential_files", ())
        ),
        limits=dict(written["limits"]) if "limits" in written else None,
        parameters=written.get("with", {}),
        files=written.get("files"),
        readable=tuple(written.get("readable", ())),
        gives_reference=written.get("gives_reference", False),
        description=written.get("description", ""),
        digests=reading.digests(owner_of(file.name)),
    )


def _text_or_none(written: Any) -> str | None:  # noqa: ANN401 - a name or a mapping
    return written if isinstance(written, str) else None


def _instructions_from(written: Any) -> InstructionsFrom | None:  # noqa: ANN401 - as above
    if not isinstance(written, dict):
        return None
    source = written["from"]
    return InstructionsFrom(
        revision=source["revision"],
        paths=tuple(source["paths"]),
        repository=source.get("repository"),
    )


def _network(written: Any) -> Network:  # noqa: ANN401 - a word or a mapping
    if isinstance(written, dict):
        refused = written.get("refused", Network().refused)
        return Network(mode=ALLOW, allow=tuple(written["allow"]), refused=refused)
    return Network(mode=written)


def _check_hosts(reading: Reading, document: Document) -> None:
    for number, text in enumerate(value_of(document, ("network", "allow"), list) or []):
        if not isinstance(text, str):
            continue
        try:
            parse_entry(text)
        except HostError as error:
            hint = "write `host`, `host:port`, `*.host:port`, or an address in the usual notation"
            reading.at(document, ("network", "allow", number), str(error), hint)


def _check_credentials(reading: Reading, document: Document) -> None:
    """No two files go to one place, and none below another."""
    taken: list[str] = []
    for number, one in enumerate(value_of(document, ("credential_files",), list) or []):
        to = one.get("to") if isinstance(one, dict) else None
        if not isinstance(to, str):
            continue
        if any(
            f"{to}/".startswith(f"{other}/") or f"{other}/".startswith(f"{to}/") for other in taken
        ):
            message = f"another credential file goes to `{to}`, or above or below it"
            reading.at(
                document, ("credential_files", number, "to"), message, "choose another place"
            )
        taken.append(to)


def _check_plugins(reading: Reading, document: Document, tasks: Sequence[TaskFile]) -> None:
    check_agent(reading, document, tasks, AgentPart(written=mapping_of(document)))
    sandbox = value_of(document, ("sandbox",), str)
    if sandbox:
        reading.plugin("sandboxes", sandbox, document, ("sandbox",))


def _check_reference(reading: Reading, document: Document, tasks: Sequence[TaskFile]) -> None:
    if value_of(document, ("gives_reference",), bool) is not True:
        return
    pointer: Pointer = ("gives_reference",)
    if "files" in mapping_of(document):
        message = "an agent that gets the reference gets no other files"
        reading.at(document, ("files",), message, "remove `files` or `gives_reference`", key=True)
    without = [task.name for task in tasks if not task.has_answer]
    if without:
        message = f"there is no reference to give in task {', '.join(without)}"
        reading.at(document, pointer, message, "add `reference:` to the task")
