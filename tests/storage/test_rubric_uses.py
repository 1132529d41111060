from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import git, write_files

from trialbook.model.digest import sha256
from trialbook.storage.reader import Reader
from trialbook.storage.rubric_uses import (
    RubricUse,
    frozen_problem,
    frozen_problems,
    rubric_uses,
    uses_in,
)

OLD, NOW = "a" * 64, "b" * 64
TRIAL = "runs/demo/first/alpha/current"
ROUND = "20261130T150000Z-00000a"


def use(where: str, digest: str = OLD, reference: str = "merge@1") -> RubricUse:
    return RubricUse(reference=reference, sha256=digest, where=where)


def record(reference: str = "merge@1", digest: str = OLD) -> str:
    return json.dumps({"judgement": {"rubric": reference, "rubric_sha256": digest}})


def commit(root: Path, files: dict[str, str]) -> None:
    if not (root / ".git").exists():
        git(root, "init", "-q")
    write_files(root, files)
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "records")


def found(root: Path) -> list[RubricUse]:
    reader = Reader.open(root)
    try:
        return sorted(rubric_uses(root, reader))
    finally:
        reader.close()


def test_plans_judges_reviews_locks_and_calibrations_name_what_they_used(tmp_path: Path) -> None:
    commit(
        tmp_path,
        {
            "suites/demo/locks/1.json": record("merge@1"),
            "rubrics/merge/calibrations/one.json": record("merge@2"),
            "runs/demo/first/plan.json": record("merge@3"),
            "runs/demo/first/reviews/ann/0123456789ab.yaml": (
                f"reviewer: ann\nrubric: merge@4\nrubric_sha256: {OLD}\nanswers: []\n"
            ),
            f"runs/demo/first/regrades/{ROUND}.json": "{}",
            f"{TRIAL}/r1/trial.json": "{}",
            f"{TRIAL}/r1/regrades/{ROUND}/judge-one.json": record("merge@5"),
            f"{TRIAL}/r1/regrades/{ROUND}/judge-two.json": record("merge@6"),
            f"{TRIAL}/r1/regrades/{ROUND}/checks.json": record("merge@7"),
            f"{TRIAL}/r2/trial.json": "{}",
            f"{TRIAL}/r2/regrades/{ROUND}/judge-one.json": record("merge@5"),
            "runs/demo/second/plan.json": "{}",
        },
    )
    assert found(tmp_path) == [
        use("suites/demo/locks/1.json", reference="merge@1"),
        use("rubrics/merge/calibrations/one.json", reference="merge@2"),
        use("runs/demo/first/plan.json", reference="merge@3"),
        use("runs/demo/first/reviews/ann/0123456789ab.yaml", reference="merge@4"),
        use(f"{TRIAL}/r1/regrades/{ROUND}/judge-one.json", reference="merge@5"),
        use(f"{TRIAL}/r1/regrades/{ROUND}/judge-two.json", reference="merge@6"),
    ]


def test_what_is_not_committed_below_runs_is_no_record(tmp_path: Path) -> None:
    commit(tmp_path, {"runs/demo/first/plan.json": "{}"})
    write_files(tmp_path, {"runs/demo/second/plan.json": record()})
    assert found(tmp_path) == []
    assert list(rubric_uses(tmp_path, None)) == []


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"rubric_sha256",
        b'{"rubric_sha256": "x", "rubric": ',
        b'{"rubric_sha256": 1, "rubric": "merge@1"}',
        b'{"rubric_sha256": "short", "rubric": "merge@1"}',
        b'{"rubric_sha256": "' + b"a" * 64 + b'", "rubric": ["merge@1"]}',
        b'{"rubric_sha256": "' + b"a" * 64 + b'"}',
        b"[" * 100_000 + b'"rubric_sha256"',
        b"\xff rubric_sha256: \x00",
    ],
)
@pytest.mark.parametrize("where", ["x.json", "x.yaml"])
def test_a_damaged_record_names_nothing(data: bytes, where: str) -> None:
    assert list(uses_in(data, where)) == []


@pytest.mark.parametrize("quote", ["", '"', "'"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_review_may_be_quoted_and_saved_anywhere(quote: str, end: str) -> None:
    used = [f"rubric: {quote}merge@1{quote}", f"rubric_sha256: {quote}{OLD}{quote}"]
    note = ["answers:", "  - note: |", "      rubric: other@1", ""]
    text = end.join(["reviewer: ann", *used, *note])
    assert list(uses_in(text.encode(), "x.yaml")) == [use("x.yaml")]


@given(st.binary(max_size=80))
def test_no_bytes_make_the_search_fall_over(data: bytes) -> None:
    for where in ("x.json", "x.yaml"):
        list(uses_in(b"rubric_sha256: " + data, where))


def test_a_version_that_is_as_it_was_used_is_fine() -> None:
    assert frozen_problem("merge@1", OLD, [use("plan"), use("other", NOW, "merge@2")]) is None
    assert frozen_problem("merge@1", NOW, []) is None


def test_a_version_that_changed_after_use_names_the_use_and_the_way_out() -> None:
    problem = frozen_problem("merge@1", NOW, [use("runs/b"), use("runs/a"), use("runs/c", NOW)])
    assert str(problem) == (
        "rubrics/merge/v1.md: merge@1 is not what was used in runs/a and in 1 more record: its "
        "sha256 is bbbbbbbbbbbb…, there it was aaaaaaaaaaaa…; put it back, and change a new "
        "version instead: trialbook rubric new merge"
    )


def test_a_version_that_is_gone_is_asked_back() -> None:
    problem = frozen_problem("merge@1", None, [use("runs/a/plan.json")])
    assert str(problem) == (
        "rubrics/merge/v1.md: merge@1 is gone, and runs/a/plan.json used it; "
        "restore it: git checkout -- rubrics/merge/v1.md"
    )


def test_every_used_version_is_compared_with_its_file(tmp_path: Path) -> None:
    write_files(tmp_path, {"rubrics/merge/v1.md": "one", "rubrics/merge/v2.md": "two"})
    uses = [
        use("a", sha256(b"one"), "merge@1"),
        use("b", OLD, "merge@2"),
        use("c", OLD, "other@1"),
    ]
    problems = frozen_problems(tmp_path, iter(uses))
    assert [one.path for one in problems] == ["rubrics/merge/v2.md", "rubrics/other/v1.md"]
    named = frozen_problems(tmp_path, uses, frozenset({"other"}))
    assert [one.path for one in named] == ["rubrics/other/v1.md"]


@pytest.mark.parametrize("reference", ["../../secret@1", "merge", "merge@0", "a/b@1", "@1", ""])
def test_a_reference_that_could_not_be_here_is_passed_over(reference: str) -> None:
    assert list(uses_in(record(reference).encode(), "x.json")) == []
