"""Writes the reference pages that must not drift: every command's help, every file's fields.

Run as ``python -m trialbook.cli.reference FOLDER`` (``make docs``); a test compares what it would
write with what is there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from trialbook.cli.main import COMMANDS, cli
from trialbook.errors import ExitCode
from trialbook.formats.schema import SCHEMA_KINDS, load_schema
from trialbook.model.outcome import NOT_RUN, Outcome
from trialbook.site.glossary import words_document
from trialbook.storage.files import write_atomic
from trialbook.verify.codes import Code

_EXIT_CODES = {
    ExitCode.DONE: "done",
    ExitCode.NO: "the answer is no: a check failed, a gate failed, the ledger does not verify",
    ExitCode.FIX: "something for you to fix; the message says what and where",
    ExitCode.INCONCLUSIVE: "inconclusive",
    ExitCode.NOT_VALID: "not valid: too much is missing to answer",
    ExitCode.BUG: "a bug in trialbook; the path of a log is printed",
    ExitCode.INTERRUPTED: "interrupted",
}

_COMMANDS_LEAD = (
    "Every command, as its own `--help` says it. Results go to standard output, talk and "
    "progress to standard error.\n"
)
_FAULTS_LEAD = (
    "Every kind of fault that `trialbook verify` finds, by its code. Codes are stable: programs "
    "may depend on them.\n"
)
_FILES_LEAD = (
    "Every kind of file, field by field, generated from the JSON Schemas that the program itself "
    "checks with. People write the YAML files; the program writes the JSON files.\n"
)


def pages() -> dict[str, str]:
    """Every generated page: file name to text."""
    return {
        "commands.md": _commands(),
        "faults.md": _faults(),
        "files.md": _files(),
        "outcomes.md": _outcomes(),
        "words.md": words_document(),
    }


def _faults() -> str:
    parts = ["---\ntitle: Faults of a ledger\norder: 40\n---\n", _FAULTS_LEAD]
    parts += [f"## `{code.value}`\n\n**{code.sentence}** {code.explanation}\n" for code in Code]
    return "\n".join(parts)


def _commands() -> str:
    parts = [
        "---\ntitle: Commands\norder: 10\n---\n",
        _COMMANDS_LEAD,
        "## Exit codes\n\n| code | means |\n| --- | --- |\n"
        + "".join(f"| {code.value} | {text} |\n" for code, text in _EXIT_CODES.items()),
    ]
    for words, command in _walk(["trialbook"], cli):
        context = click.Context(
            command, info_name=" ".join(words), max_content_width=96, terminal_width=96
        )
        title = " ".join(words)
        parts.append(f"## `{title}`\n\n```text\n{command.get_help(context).rstrip()}\n```\n")
    return "\n".join(parts)


def _walk(words: list[str], command: click.Command) -> Iterator[tuple[list[str], click.Command]]:
    yield words, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        names = COMMANDS if command is cli else command.list_commands(context)
        for name in sorted(names):
            found = command.get_command(context, name)
            if found is not None:
                yield from _walk([*words, name], found)


def _files() -> str:
    parts = [
        "---\ntitle: Files of the ledger\norder: 20\n---\n",
        _FILES_LEAD,
    ]
    for kind in SCHEMA_KINDS:
        schema = load_schema(kind)
        parts.append(f"## {schema['title']}\n\n{schema.get('description', '')}\n")
        rows = list(_rows(schema, schema, ""))
        if rows:
            parts.append(
                "| field | type | needed | default | meaning |\n| --- | --- | --- | --- | --- |"
            )
            parts[-1] += "".join(f"\n{row}" for row in rows) + "\n"
    return "\n".join(parts)


def _rows(whole: Mapping[str, Any], schema: Mapping[str, Any], prefix: str) -> Iterator[str]:
    schema = _resolved(whole, schema)
    required = set(schema.get("required", ()))
    for name, part in schema.get("properties", {}).items():
        found = _resolved(whole, part)
        text = str(part.get("description") or found.get("description") or "").replace("|", "\\|")
        needed = "yes" if name in required else ""
        default = f"`{json.dumps(found['default'])}`" if "default" in found else ""
        facts = (f"`{prefix}{name}`", _type(whole, found), needed, default, " ".join(text.split()))
        yield f"| {' | '.join(facts)} |"
        yield from _below(whole, found, f"{prefix}{name}")


def _below(whole: Mapping[str, Any], schema: Mapping[str, Any], path: str) -> Iterator[str]:
    for option in _options(whole, schema):
        if "properties" in option:
            yield from _rows(whole, option, f"{path}.")
        items = option.get("items")
        if isinstance(items, Mapping):
            for inner in _options(whole, _resolved(whole, items)):
                yield from _rows(whole, inner, f"{path}[].")
        values = option.get("additionalProperties")
        if isinstance(values, Mapping):
            for inner in _options(whole, _resolved(whole, values)):
                yield from _rows(whole, inner, f"{path}.<name>.")


def _options(whole: Mapping[str, Any], schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = [schema]
    for word in ("oneOf", "anyOf"):
        found += [_resolved(whole, option) for option in schema.get(word, ())]
    if schema.get("if") == {"type": "object"}:
        found.append({"type": "object", **_resolved(whole, schema.get("then", {}))})
        found += [part for part in (schema.get("else", {}),) if "type" in part]
    return found


def _resolved(whole: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    reference = schema.get("$ref")
    if not isinstance(reference, str):
        return schema
    target: Any = whole
    for part in reference.removeprefix("#/").split("/"):
        target = target[part]
    return {**target, **{key: value for key, value in schema.items() if key != "$ref"}}


def _type(whole: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"] if value is not None)
    if "const" in schema:
        return f"`{schema['const']}`"
    given = schema.get("type")
    if isinstance(given, list):
        return " or ".join(given)
    if isinstance(given, str):
        return given
    kinds = [_type(whole, option) for option in _options(whole, schema)[1:]]
    return " or ".join(dict.fromkeys(kind for kind in kinds if kind)) or "any"


def _outcomes() -> str:
    lines = [
        "---\ntitle: Outcomes\norder: 30\n---\n",
        "How a trial ended: one of a closed vocabulary, the first that applies in this order.\n",
        "| outcome | means | valid execution | may be replaced |\n| --- | --- | --- | --- |",
    ]
    for outcome in Outcome:
        valid = "yes" if outcome.valid else "no"
        again = "if the plan says so" if outcome.rerunnable else "never"
        lines[-1] += f"\n| `{outcome.value}` | {outcome.meaning} | {valid} | {again} |"
    lines[-1] += f"\n| `{NOT_RUN}` | A scheduled slot without a record. | no | is run on resume |\n"
    return "\n".join(lines)


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
def main(folder: Path) -> None:
    """Write the reference pages into FOLDER, which has to be there."""
    for name, text in pages().items():
        write_atomic(folder / name, text.encode())


if __name__ == "__main__":
    main()
