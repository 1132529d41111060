from __future__ import annotations

import dataclasses
import types
import typing
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest

from trialbook.errors import Problem
from trialbook.formats.authored import parse_document
from trialbook.formats.schema import (
    RECORD_KINDS,
    SCHEMA_KINDS,
    check_schema,
    load_schema,
    schema_fault,
)
from trialbook.model.alarm import Alarm
from trialbook.model.amendment import Amendment
from trialbook.model.calibration import Calibration
from trialbook.model.generation import Generation
from trialbook.model.grade import Grade
from trialbook.model.incident import ClosedIncident, OpenedIncident
from trialbook.model.lock import Lock
from trialbook.model.outcome import Outcome
from trialbook.model.plan import Plan
from trialbook.model.regrade import Regrade
from trialbook.model.review import Reconciliation, Review
from trialbook.model.rule import Rule
from trialbook.model.series_record import SeriesRecord
from trialbook.model.session import Handover
from trialbook.model.suite import Contamination, Limits, Split
from trialbook.model.trajectory import Trajectory
from trialbook.model.trial import Trial

MISTAKES = Path(__file__).parent / "mistakes"
RECORDS = {
    "plan": Plan,
    "trial": Trial,
    "trajectory": Trajectory,
    "grade": Grade,
    "lock": Lock,
    "amendment": Amendment,
    "incident": OpenedIncident,
    "incident_closing": ClosedIncident,
    "regrade": Regrade,
    "generation": Generation,
    "review": Review,
    "reconciliation": Reconciliation,
    "handover": Handover,
    "series": SeriesRecord,
    "calibration": Calibration,
    "rule": Rule,
    "alarm": Alarm,
}


def said(kind: str, text: str, **named: Any) -> list[str]:
    document, problems = parse_document(text, "f")
    assert document is not None
    return [str(found) for found in problems + check_schema(document, load_schema(kind), **named)]


def resolved(schema: Any, top: dict[str, Any]) -> dict[str, Any]:
    """The schema of an object behind references and behind "or null"."""
    while "$ref" in schema or "anyOf" in schema:
        if "$ref" in schema:
            schema = top["$defs"][schema["$ref"].rpartition("/")[2]]
        else:
            schema = next(one for one in schema["anyOf"] if one != {"type": "null"})
    return dict(schema)


def every_object(schema: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    if isinstance(schema, dict):
        if "properties" in schema and schema.get("additionalProperties") is not None:
            found.append(schema)
        for key, part in schema.items():
            if key not in {"if", "then"}:
                found += every_object(part)
    elif isinstance(schema, list):
        for part in schema:
            found += every_object(part)
    return found


@pytest.mark.parametrize("kind", SCHEMA_KINDS)
def test_a_shipped_schema_is_valid_and_describes_every_property(kind: str) -> None:
    schema = load_schema(kind)
    assert schema_fault(schema) == ""
    assert schema["title"]
    assert schema["description"]
    for part in every_object(schema):
        for name, described in part["properties"].items():
            text = described.get("description", "")
            assert text.endswith("."), f"{kind}: {name}"


def test_an_unknown_kind_is_an_error() -> None:
    with pytest.raises(KeyError):
        load_schema("../suite")


def test_a_schema_can_be_changed_by_its_owner_without_harm() -> None:
    load_schema("suite").clear()
    assert load_schema("suite")


def same_fields(kind: type, schema: dict[str, Any], top: dict[str, Any], where: str) -> None:
    fields = {field.name: field for field in dataclasses.fields(kind)}
    assert list(schema["properties"]) == list(fields), where
    assert schema["additionalProperties"] is False, where
    needed = {
        name
        for name, field in fields.items()
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    }
    assert set(schema.get("required", [])) == needed, where
    hints = typing.get_type_hints(kind)
    for name in fields:
        same_type(hints[name], schema["properties"][name], top, f"{where}.{name}")


def same_type(hint: Any, schema: dict[str, Any], top: dict[str, Any], where: str) -> None:
    inner = resolved(schema, top)
    if isinstance(hint, types.UnionType):
        parts = [part for part in typing.get_args(hint) if part is not type(None)]
        null = {"type": "null"} in schema.get("anyOf", []) or "null" in inner.get("type", [])
        assert null == (type(None) in typing.get_args(hint)), where
        same_type(parts[0], inner, top, where)
    elif dataclasses.is_dataclass(hint) and isinstance(hint, type):
        same_fields(hint, inner, top, where)
    elif typing.get_origin(hint) is tuple or typing.get_origin(hint) is list:
        assert inner["type"] == "array", where
        same_type(typing.get_args(hint)[0], inner["items"], top, where)
    elif typing.get_origin(hint) is dict:
        assert inner["type"] == "object", where
        value = typing.get_args(hint)[1]
        if value is not Any:
            same_type(value, inner["additionalProperties"], top, where)
    elif isinstance(hint, type) and issubclass(hint, StrEnum):
        assert inner["enum"] == [member.value for member in hint], where
    elif "enum" not in inner and "const" not in inner:
        names = {str: "string", int: "integer", float: "number", bool: "boolean"}
        kinds = inner["type"] if isinstance(inner["type"], list) else [inner["type"]]
        assert names[hint] in kinds, where


@pytest.mark.parametrize("kind", RECORD_KINDS)
def test_a_records_schema_says_what_the_dataclass_says(kind: str) -> None:
    schema = load_schema(kind)
    same_fields(RECORDS[kind], schema, schema, kind)


def test_the_closed_vocabularies_are_the_models() -> None:
    outcomes = [outcome for outcome in Outcome if outcome.rerunnable]
    assert list(load_schema("suite")["properties"]["rerun"]["properties"]) == outcomes
    task = load_schema("task")["properties"]
    assert task["split"]["enum"] == list(Split)
    assert task["contamination"]["enum"] == list(Contamination)


@pytest.mark.parametrize("kind", ["suite", "task", "configuration", "plan"])
def test_limits_and_their_defaults_are_the_models(kind: str) -> None:
    properties = load_schema(kind)["$defs"]["limits"]["properties"]
    defaults = Limits()
    assert {name: getattr(defaults, name) for name in properties} == {
        name: described["default"] for name, described in properties.items()
    }
    assert list(properties) == [field.name for field in dataclasses.fields(Limits)]


SUITE = """\
suite: refunds
protocol: 1
decision: Which?
configurations: [a]
accept: checks
"""
TASK = "task: t\ngraders: [checks: checks.yaml]\nsnapshot: "
COMMIT = "3f9c2d7e3f9c2d7e3f9c2d7e3f9c2d7e3f9c2d7e"
SHA256 = "a" * 64


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("suite", SUITE),
        (
            "suite",
            SUITE
            + "description: d\nrepetitions: 5\nlimits: {minutes: null, usd: 0.5, turns: 3}\n"
            + "limits_are_failures: false\nrerun: {provider_outage: 1, cancelled: null}\n"
            + "compare: {baseline: a, candidate: b, margin: 0.1, because: so}\n"
            + "toolchain: {requirements: tools/requirements.txt}\n",
        ),
        ("task", TASK + f"{{git: ../../../shop, commit: {COMMIT}, submodules: excluded}}"),
        (
            "task",
            TASK + f"{{git: 'https://example.com/a.git', commit: {COMMIT}, lfs: pointers_only}}",
        ),
        ("task", TASK + "{folder: ../../snapshots/shop, remove: [CHANGELOG.md], links: allowed}"),
        (
            "task",
            TASK + f"{{archive: shop.tar.gz, sha256: {SHA256}, path: shop-1.0, case: allowed}}",
        ),
        ("task", TASK + f"{{package: shop, version: '1.0', sha256: {SHA256}}}"),
        ("task", TASK + "{folder: a}\nreference: private/reference.patch"),
        ("task", TASK + "{folder: a}\nreference: {overlay: private/reference}"),
        (
            "task",
            TASK
            + "{folder: a}\n"
            + f"reference: {{package: shop, version: '1.1', sha256: {SHA256}, path: a, into: b}}",
        ),
        ("configuration", "configuration: a\nagent: replay\nnetwork: none\n"),
        (
            "configuration",
            (
                "configuration: a\nagent: x\nversion: '1'\nmodel: m\nreasoning: high\n"
                "instructions: i\napproval: deny\nsandbox: none\nnetwork: {allow: ['a:443']}\n"
                "environment: {A: '1'}\npass_environment: [L]\nsecrets: [KEY]\nlimits: {usd: 3}\n"
                "with: {argv: [x]}\nfiles: 'recordings/{task}/{repetition}'\n"
                "gives_reference: false\ndescription: d\n"
            ),
        ),
        (
            "checks",
            (
                "task: a title\nchecks:\n"
                "- {id: a, type: file_exists, path: 'src/*.py', severity: HIGH}\n"
                "- {id: b, question: q, description: d, type: directory_exists, path: src}\n"
                "- {id: 3, type: file_contains, file: a, pattern: x, severity: Must}\n"
                "- {id: d, type: file_not_contains, file: a, pattern: x}\n"
                "- {id: e, type: file_absent, path: '**/*.orig'}\n"
                "- {id: f, type: file_matches, files: '**/*.py', pattern: x, at_least: 2}\n"
                "- {id: g, type: json_path, file: a.json, query: a.b, equals: null}\n"
                "- {id: h, type: yaml_path, file: a.yaml, query: a.b, equals: [1]}\n"
                "- {id: i, type: command_succeeds, run: make test, minutes: 1}\n"
                "- {id: j, type: command_succeeds, run: [make, test]}\n"
                "- {id: k, type: changed_only, paths: [src/]}\n"
                "- {id: l, type: not_changed, paths: [tests/]}\n"
                "- {id: m, type: max_changed_files, count: 3}\n"
                "- {id: n, type: max_changed_lines, count: 30}\n"
            ),
        ),
        ("expected", '{"$schema": "x", "passed": ["t::a"], "must_fail": ["t::s"]}'),
    ],
)
def test_right_files_have_no_problems(kind: str, text: str) -> None:
    assert said(kind, text) == []


@pytest.mark.parametrize("path", sorted(MISTAKES.glob("*.[yj]*")), ids=lambda path: path.stem)
def test_every_mistake_is_said_in_words_with_its_place(path: Path) -> None:
    expected = path.with_suffix(".txt").read_text(encoding="utf-8").splitlines()
    assert said(path.stem.partition("-")[0], path.read_text(encoding="utf-8")) == expected


def check(text: str, schema: dict[str, Any], **named: Any) -> list[Problem]:
    document, _ = parse_document(text, "f")
    assert document is not None
    return check_schema(document, schema, **named)


def test_a_part_is_checked_with_places_of_the_whole() -> None:
    schema = {"type": "object", "additionalProperties": False, "properties": {"argv": {}}}
    problems = check("agent: x\nwith:\n  arg: 1\n", schema, at=("with",))
    assert [str(one) for one in problems] == ["f:3:3: unknown key `arg`; did you mean `argv`?"]


def test_another_value_can_stand_in_for_a_part() -> None:
    schema = {"properties": {"file": {"pattern": "^a"}}}
    problems = check("g:\n- checks: b\n", schema, at=("g", 0, "checks"), data={"file": "b"})
    assert [str(one) for one in problems] == [
        "f:2:11: `file` (`b`) does not have the right form; it must match the regular expression ^a"
    ]


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "null"}, "must be null, not a list"),
        ({"anyOf": [True, {"minItems": 9}], "maxItems": 1}, "more than 1 items"),
        ({"prefixItems": [{"type": "boolean"}]}, "item 1 of `v` must be true or false"),
        ({"minItems": 3}, "has fewer than 3 items"),
        ({"maxItems": 1}, "has more than 1 items"),
        ({"items": {"maximum": 1}}, "item 2 of `v` must be at most 1"),
        ({"contains": {"const": 9}}, "does not contain"),
        ({"const": 4}, "must be `4`"),
        (False, "False schema"),
        ({"anyOf": [{"minItems": 5}, {"maxItems": 1}]}, "not valid under any"),
        ({"oneOf": [{"type": "string"}, {"type": "null"}]}, "must be text or null, not a list"),
        ({"not": {}, "errorMessage": "is odd; go"}, "`v` is odd; go"),
    ],
)
def test_schemas_of_plugins_get_words_for_other_rules_too(schema: object, words: str) -> None:
    problems = check("v: [1, 2]\n", {"properties": {"v": schema}})
    assert words in str(problems[0])


@pytest.mark.parametrize(
    ("written", "schema", "expected"),
    [
        ("'x'", "number", "`v` must be a number, not text"),
        ("'7'", "integer", "`v` must be a whole number, not text; remove the quotes"),
        ("1.5", "integer", "`v` must be a whole number, not `1.5`"),
        ("true", "integer", "`v` must be a whole number, not true or false"),
        ("off", "boolean", "`v` must be true or false, not text; write true or false"),
        ("null", "string", "`v` has no value; it must be text"),
    ],
)
def test_a_scalar_of_the_wrong_type_gets_a_hint_from_how_it_was_written(
    written: str, schema: str, expected: str
) -> None:
    (problem,) = check(f"v: {written}\n", {"properties": {"v": {"type": schema}}})
    assert str(problem).partition(": ")[2] == expected


def test_a_broken_schema_is_found() -> None:
    assert "blob" in schema_fault({"type": "blob"})
    assert schema_fault({"type": "object"}) == ""
