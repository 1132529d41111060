from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialbook.formats.records import RecordError, from_json, is_canonical, pack, to_json, unpack
from trialbook.model.grade import Check, Finding, Grade, GradeStatus, Severity

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
FINDINGS = st.builds(
    Finding, text=TEXT, file=st.none() | TEXT, line=st.none() | st.integers(1, 10**6)
)
CHECKS = st.builds(
    Check,
    id=TEXT,
    question=TEXT,
    passed=st.sampled_from([True, False, None]),
    message=TEXT,
    severity=st.sampled_from(list(Severity)),
    evidence=st.lists(FINDINGS, max_size=3).map(tuple),
)
GRADES = st.builds(
    Grade,
    grader=TEXT,
    version=TEXT,
    status=st.sampled_from(list(GradeStatus)),
    accepted=st.sampled_from([True, False, None]),
    passed=st.integers(0, 9),
    total=st.integers(0, 9),
    message=TEXT,
    checks=st.lists(CHECKS, max_size=3).map(tuple),
    log=TEXT,
)


@given(GRADES)
def test_a_record_comes_back_from_its_json(grade: Grade) -> None:
    assert from_json(Grade, to_json(grade), "grade") == grade


@given(GRADES)
def test_a_record_comes_back_from_its_packed_form(grade: Grade) -> None:
    assert unpack(Grade, pack(grade), "grade") == grade


@given(GRADES)
def test_the_same_value_gives_the_same_bytes(grade: Grade) -> None:
    assert to_json(from_json(Grade, to_json(grade), "grade")) == to_json(grade)


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
    max_leaves=15,
)  # fmt: skip


@given(ANY_JSON)
def test_records_are_written_as_the_standard_library_indents_them(value: object) -> None:
    assert to_json(value) == json.dumps(value, indent=2, ensure_ascii=False).encode() + b"\n"


def test_json_reads_well_as_a_diff() -> None:
    grade = Grade(
        grader="checks",
        version="1",
        status=GradeStatus.GRADED,
        accepted=True,
        passed=1,
        total=1,
        message="all of it",
    )
    text = to_json(grade).decode()
    assert text.endswith("}\n")
    assert text.startswith('{\n  "grader": "checks",\n')
    assert list(json.loads(text)) == [
        *("grader", "version", "status", "accepted", "passed", "total"),
        *("message", "checks", "log", "schema", "judgement"),
    ]


def test_a_number_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        to_json({"score": float("nan")})


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"grader": 1}', b"\xff\xfe", b'"text"'])
def test_a_broken_record_is_named(data: bytes) -> None:
    with pytest.raises(RecordError, match=r"runs/x\.json: not a grade record"):
        from_json(Grade, data, "runs/x.json")


A_GRADE = Grade(
    grader="checks",
    version="1",
    status=GradeStatus.GRADED,
    accepted=True,
    passed=1,
    total=1,
    message="all of it",
    checks=(Check(id="one", question="Is it?", passed=True, message=""),),
)


def test_a_record_of_an_older_version_is_canonical_without_the_newer_keys() -> None:
    older = json.loads(to_json(A_GRADE))
    del older["log"], older["checks"][0]["evidence"]
    data = to_json(older)
    assert is_canonical(from_json(Grade, data, "grade"), data)


@pytest.mark.parametrize(
    "change",
    [
        lambda given: given | {"more": 1},
        lambda given: dict(reversed(given.items())),
        lambda given: given | {"checks": [given["checks"][0] | {"id ": ""}]},
    ],
)
def test_keys_and_values_that_no_version_writes_are_not_canonical(change: Any) -> None:
    older = json.loads(to_json(A_GRADE))
    del older["log"]
    data = to_json(change(older))
    assert not is_canonical(from_json(Grade, data, "grade"), data)
