"""Judges of a ledger: ``rubrics/judges/<name>.yaml``, read with every mistake and its place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trialbook.errors import Problem, TrialbookError, UserError
from trialbook.formats.authored import read_document
from trialbook.formats.document import Document
from trialbook.formats.nearest import nearest
from trialbook.formats.schema import check_schema, load_schema
from trialbook.model.digest import sha256
from trialbook.model.hosts import HostError, parse_entry
from trialbook.model.judge import DEFAULT_DIFF_KB, Judge
from trialbook.model.suite import ALLOW, Network
from trialbook.registry import Registry
from trialbook.storage.rubrics import RUBRICS_FOLDER

JUDGES_FOLDER = f"{RUBRICS_FOLDER}/judges"


def judge_names(root: Path) -> list[str]:
    """The judges of a ledger, by name."""
    return sorted(path.stem for path in (root / JUDGES_FOLDER).glob("*.yaml"))


def load_judge(root: Path, name: str, registry: Registry) -> Judge:
    """A judge without mistakes, with the digests of its files.

    Raises:
        UserError: there is none of that name, or its file has mistakes; all of them.
    """
    known = judge_names(root)
    if name not in known:
        here = ", ".join(known) or f"none yet; write {JUDGES_FOLDER}/{name}.yaml"
        raise UserError(
            f"there is no judge {name!r}", hint=nearest(name, known) or f"here are: {here}"
        )
    document, problems = _read(root, name, registry)
    if document is None or problems:
        raise UserError(problems=sorted(set(problems)))
    return _built(root, name, document.data)


def check_judges(root: Path, registry: Registry) -> list[Problem]:
    """Every mistake in the judges of a ledger."""
    problems: list[Problem] = []
    for name in judge_names(root):
        problems += _read(root, name, registry)[1]
    for path in sorted((root / JUDGES_FOLDER).glob("*.yml")):
        shown = f"{JUDGES_FOLDER}/{path.name}"
        hint = f"rename it to {path.stem}.yaml"
        problems.append(Problem(path=shown, message="this file is not looked at", hint=hint))
    return sorted(set(problems))


def _read(root: Path, name: str, registry: Registry) -> tuple[Document | None, list[Problem]]:
    shown = f"{JUDGES_FOLDER}/{name}.yaml"
    document, problems = read_document(root / shown, shown)
    if document is None:
        return None, problems
    problems += check_schema(document, load_schema("judge"))
    if isinstance(document.data, dict):
        for look in (_named, _client, _hosts, _secrets):
            problems += look(document, name, registry)
        problems += _files(root, document)
    return document, problems


def _named(document: Document, name: str, registry: Registry) -> Iterator[Problem]:
    del registry
    said = document.data.get("judge")
    if isinstance(said, str) and said != name:
        message = f"the judge is called `{said}`, but its file `{name}.yaml`"
        yield document.problem(("judge",), message, "rename one of the two")


def _client(document: Document, name: str, registry: Registry) -> Iterator[Problem]:
    """The plugins have to be there, take what they are given, and the client has to judge."""
    del name
    client, sandbox = document.data.get("client"), document.data.get("sandbox")
    if isinstance(sandbox, str) and sandbox not in registry.names("sandboxes"):
        known = registry.names("sandboxes")
        hint = nearest(sandbox, known) or f"installed: {', '.join(known)}"
        yield document.problem(("sandbox",), f"no sandbox is named `{sandbox}`", hint)
    if not isinstance(client, str):
        return
    try:
        agent = registry.agent(client)
    except TrialbookError as error:
        hint = nearest(client, registry.names("agents")) or error.hint
        yield document.problem(("client",), error.message, hint)
        return
    if not hasattr(agent, "judge"):
        can = [one for one in registry.names("agents") if _can_judge(registry, one)]
        message = f"the plugin `{client}` cannot judge"
        yield document.problem(("client",), message, f"these can: {', '.join(can)}")
        return
    parameters = document.data.get("with", {})
    if isinstance(parameters, dict):
        yield from check_schema(document, agent.parameters, at=("with",), data=parameters)
    settings = getattr(agent, "settings", None)
    if settings:
        yield from check_schema(document, {"properties": settings})


def _can_judge(registry: Registry, name: str) -> bool:
    try:
        return hasattr(registry.agent(name), "judge")
    except TrialbookError:
        return False


def _hosts(document: Document, name: str, registry: Registry) -> Iterator[Problem]:
    del name, registry
    network = document.data.get("network")
    allowed = network.get("allow") if isinstance(network, dict) else None
    for number, text in enumerate(allowed if isinstance(allowed, list) else ()):
        if not isinstance(text, str):
            continue
        try:
            parse_entry(text)
        except HostError as error:
            hint = "write `host`, `host:port`, `*.host:port`, or an address in the usual notation"
            yield document.problem(("network", "allow", number), str(error), hint)


def _secrets(document: Document, name: str, registry: Registry) -> Iterator[Problem]:
    del name, registry
    secrets, environment = document.data.get("secrets"), document.data.get("environment")
    if isinstance(secrets, list) and isinstance(environment, dict):
        for variable in environment:
            if variable in secrets:
                message = f"`{variable}` is a secret, so its value must not be written here"
                yield document.problem(("environment", variable), message, "remove it", key=True)


def _files(root: Path, document: Document) -> Iterator[Problem]:
    files = document.data.get("files")
    if not isinstance(files, str):
        return
    folder = root / JUDGES_FOLDER / files
    if not folder.is_dir():
        message = f"there is no folder `{JUDGES_FOLDER}/{files}`"
        yield document.problem(("files",), message, "add it, or correct the name")
        return
    inside = (root / JUDGES_FOLDER).resolve()
    if any(not path.resolve().is_relative_to(inside) for path in (folder, *folder.rglob("*"))):
        message = f"a symbolic link in `{JUDGES_FOLDER}/{files}` leads out of it"
        yield document.problem(("files",), message, "put the files themselves there")


def _built(root: Path, name: str, written: dict[str, Any]) -> Judge:
    network = written.get("network", "none")
    files = written.get("files")
    return Judge(
        name=name,
        client=written["client"],
        model=written.get("model"),
        reasoning=written.get("reasoning"),
        version=written.get("version"),
        votes=written.get("votes", 1),
        diff_kb=float(written.get("diff_kb", DEFAULT_DIFF_KB)),
        sandbox=written.get("sandbox"),
        network=Network(mode=ALLOW, allow=tuple(network["allow"]))
        if isinstance(network, dict)
        else Network(mode=network),
        environment=dict(written.get("environment", {})),
        pass_environment=tuple(written.get("pass_environment", ())),
        secrets=tuple(written.get("secrets", ())),
        limits=dict(written.get("limits", {})),
        parameters=dict(written.get("with", {})),
        files=files,
        readable=tuple(written.get("readable", ())),
        description=written.get("description", ""),
        digests=_digests(root / JUDGES_FOLDER / files) if files else {},
    )


def _digests(folder: Path) -> dict[str, str]:
    found = {
        path.relative_to(folder).as_posix(): sha256(path.read_bytes())
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    return dict(sorted(found.items()))
