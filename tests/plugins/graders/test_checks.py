from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from trialbook.api import ChangedFile, Check, Evidence, Grade, GradeStatus, Severity, TrialbookError
from trialbook_graders.checks import ChecksGrader
from trialbook_graders.search import TEXT_LIMIT

from .conftest import MakeEvidence

FILES = {
    "src/service.py": "import os\nclass Service:\n    def _validate(self):\n        pass\n",
    "docs/index.md": "# Index\n",
    "pyproject.json": '{\n  "project": {"name": "shop", "tags": ["a", "b"]},\n  "ok": true\n}\n',
    "ci.yaml": "on: push\njobs:\n  test:\n    steps:\n      - run: make\n",
    "README.md": "hello\r\nworld\r\n",
}


def grade(evidence: Evidence, *checks: dict[str, Any]) -> Grade:
    entries = [{"id": f"c{number}"} | check for number, check in enumerate(checks)]
    (evidence.task_folder / "checks.yaml").write_text(json.dumps({"checks": entries}))
    return ChecksGrader().grade(evidence, {"file": "checks.yaml"})


def one(evidence: Evidence, **check: Any) -> Check:
    return grade(evidence, check).checks[0]


@pytest.mark.parametrize(
    "check",
    [
        {"type": "file_exists", "path": "src/service.py"},
        {"type": "file_exists", "path": "src/*.py"},
        {"type": "file_exists", "path": "**/service.py"},
        {"type": "directory_exists", "path": "src"},
        {"type": "directory_exists", "path": "src/"},
        {"type": "file_absent", "path": "src/other.py"},
        {"type": "file_absent", "path": "**/*.rs"},
        {"type": "file_contains", "file": "src/service.py", "pattern": "^class "},
        {"type": "file_contains", "file": "README.md", "pattern": "hello$"},
        {"type": "file_contains", "file": "src/service.py", "pattern": "(?i)^CLASS service:$"},
        {"type": "file_not_contains", "file": "src/service.py", "pattern": "^def "},
        {"type": "file_not_contains", "file": "src/service.py", "pattern": "class.*_validate"},
        {"type": "file_matches", "files": "**/*.md", "pattern": "hello"},
        {"type": "file_matches", "files": "**/*.md", "pattern": "[a-z]", "at_least": 2},
        {"type": "json_path", "file": "pyproject.json", "query": "project.name", "equals": "shop"},
        {"type": "json_path", "file": "pyproject.json", "query": "project.tags[1]", "equals": "b"},
        {"type": "json_path", "file": "pyproject.json", "query": "ok", "equals": True},
        {
            "type": "json_path",
            "file": "pyproject.json",
            "query": "project.tags",
            "equals": ["a", "b"],
        },
        {"type": "yaml_path", "file": "ci.yaml", "query": "on", "equals": "push"},
        {
            "type": "yaml_path",
            "file": "ci.yaml",
            "query": "jobs.test.steps[0].run",
            "equals": "make",
        },
        {"type": "command_succeeds", "run": ["test", "-f", "src/service.py"]},
        {"type": "command_succeeds", "run": "grep -q hello README.md && true"},
    ],
    ids=lambda check: f"{check['type']}",
)
def test_a_check_passes(make_evidence: MakeEvidence, check: dict[str, Any]) -> None:
    found = grade(make_evidence(FILES), check)
    assert found.checks[0].passed is True, found.checks[0]
    assert (found.status, found.accepted, found.passed, found.total) == (
        GradeStatus.GRADED,
        True,
        1,
        1,
    )


@pytest.mark.parametrize(
    ("check", "message"),
    [
        ({"type": "file_exists", "path": "src/none.py"}, "src/none.py not found"),
        ({"type": "file_exists", "path": "src/*.rs"}, "src/*.rs not found"),
        ({"type": "file_exists", "path": "src"}, "src is a folder, not a file"),
        ({"type": "directory_exists", "path": "none"}, "none not found"),
        ({"type": "directory_exists", "path": "README.md"}, "README.md is a file"),
        ({"type": "file_absent", "path": "src/service.py"}, "src/service.py is a file"),
        ({"type": "file_absent", "path": "src"}, "src is a folder"),
        (
            {"type": "file_contains", "file": "none.py", "pattern": "x"},
            "file not found: none.py",
        ),
        (
            {"type": "file_not_contains", "file": "none.py", "pattern": "x"},
            "file not found: none.py",
        ),
        (
            {"type": "file_contains", "file": "README.md", "pattern": "^x"},
            "README.md does not match '^x'",
        ),
        (
            {"type": "file_not_contains", "file": "README.md", "pattern": "world"},
            "README.md contains 'world'",
        ),
        ({"type": "file_contains", "file": "src", "pattern": ""}, "src is a folder"),
        (
            {"type": "file_matches", "files": "**/*.md", "pattern": "hello", "at_least": 2},
            "1 of 2 files of **/*.md match 'hello'; at least 2 asked for",
        ),
        ({"type": "file_matches", "files": "*.rs", "pattern": ""}, "0 of 0 files"),
        (
            {"type": "json_path", "file": "pyproject.json", "query": "project.name", "equals": "x"},
            'project.name is "shop", not "x"',
        ),
        (
            {"type": "json_path", "file": "pyproject.json", "query": "ok", "equals": 1},
            "ok is true, not 1",
        ),
        (
            {"type": "json_path", "file": "pyproject.json", "query": "nope", "equals": 1},
            "the top has no key 'nope'",
        ),
        ({"type": "json_path", "file": "README.md", "query": "a", "equals": 1}, "is not JSON"),
        ({"type": "yaml_path", "file": "none.yaml", "query": "a", "equals": 1}, "file not found"),
        ({"type": "command_succeeds", "run": ["false"]}, "false ended with status 1"),
        ({"type": "command_succeeds", "run": "exit 3"}, "ended with status 3"),
        ({"type": "command_succeeds", "run": "kill -9 $$"}, "was ended by signal 9"),
        ({"type": "command_succeeds", "run": ["./none.sh"]}, "none.sh not found"),
        ({"type": "command_succeeds", "run": ["./README.md"]}, "./README.md is not executable"),
    ],
)
def test_a_check_fails_and_says_why(
    make_evidence: MakeEvidence, check: dict[str, Any], message: str
) -> None:
    found = grade(make_evidence(FILES), check)
    assert found.checks[0].passed is False
    assert message in found.checks[0].message
    assert (found.status, found.accepted, found.passed) == (GradeStatus.GRADED, False, 0)


def test_evidence_names_file_line_and_text(make_evidence: MakeEvidence) -> None:
    found = one(make_evidence(FILES), type="file_contains", file="src/service.py", pattern="_val")
    [finding] = found.evidence
    assert (finding.file, finding.line) == ("src/service.py", 3)
    assert finding.text == "    def _validate(self):"


def test_evidence_says_what_was_looked_for(make_evidence: MakeEvidence) -> None:
    found = one(make_evidence(FILES), type="file_contains", file="src/service.py", pattern="zzz")
    assert found.evidence[0].text == "looked for 'zzz' in 4 lines, not found"


def test_evidence_of_a_value_names_its_line(make_evidence: MakeEvidence) -> None:
    evidence = make_evidence(FILES)
    found = one(
        evidence, type="yaml_path", file="ci.yaml", query="jobs.test.steps[0].run", equals="x"
    )
    assert [(f.file, f.line, f.text) for f in found.evidence] == [("ci.yaml", 5, '"make"')]


def test_a_failing_command_shows_the_end_of_its_output(make_evidence: MakeEvidence) -> None:
    evidence = make_evidence(FILES)
    found = one(evidence, type="command_succeeds", run="pwd; echo why >&2; exit 1")
    assert [(f.file, f.text) for f in found.evidence] == [
        ("stderr.txt", "why"),
        ("stdout.txt", "<tree>"),
    ]


def test_control_characters_stay_data(make_evidence: MakeEvidence) -> None:
    evidence = make_evidence({"a.txt": "x \x1b[31mred\x07 \u202e y\n"})
    found = one(evidence, type="file_contains", file="a.txt", pattern="red")
    assert found.evidence[0].text == "x \x1b[31mred\x07 \u202e y"


def test_long_lines_are_clipped_around_the_match(make_evidence: MakeEvidence) -> None:
    evidence = make_evidence({"a.txt": "x" * 100_000 + "needle" + "y" * 100_000})
    found = one(evidence, type="file_contains", file="a.txt", pattern="needle")
    assert "needle" in found.evidence[0].text
    assert len(found.evidence[0].text) <= 200


def test_severity_and_question_are_kept_and_change_no_score(make_evidence: MakeEvidence) -> None:
    found = grade(
        make_evidence(FILES),
        {"type": "file_exists", "path": "none", "severity": "LOW", "question": "Is it there?"},
        {"type": "file_exists", "path": "README.md"},
    )
    assert [check.severity for check in found.checks] == [Severity.LOW, Severity.HIGH]
    assert found.checks[0].question == "Is it there?"
    assert (found.passed, found.total, found.accepted) == (1, 2, False)


# --- hostile candidates -----------------------------------------------------------------------


def test_a_link_is_reported_and_not_followed(make_evidence: MakeEvidence, tmp_path: Path) -> None:
    evidence = make_evidence(FILES)
    secret = tmp_path / "secret.txt"
    secret.write_text("root:x:0:0\n")
    (evidence.candidate / "link.txt").symlink_to(secret)
    (evidence.candidate / "folder").symlink_to(tmp_path)
    (evidence.candidate / "data.json").symlink_to(evidence.candidate / "pyproject.json")
    found = grade(
        evidence,
        {"type": "file_contains", "file": "link.txt", "pattern": "root"},
        {"type": "file_not_contains", "file": "link.txt", "pattern": "nothing"},
        {"type": "file_exists", "path": "link.txt"},
        {"type": "file_absent", "path": "link.txt"},
        {"type": "directory_exists", "path": "folder"},
        {"type": "file_contains", "file": "folder/secret.txt", "pattern": "root"},
        {"type": "file_exists", "path": "folder/secret.txt"},
        {"type": "file_matches", "files": "*.txt", "pattern": "root"},
        {"type": "file_matches", "files": "**/secret.txt", "pattern": ""},
        {"type": "json_path", "file": "data.json", "query": "ok", "equals": True},
    )
    assert [check.passed for check in found.checks] == [False] * 10
    for number in (0, 1, 2, 3, 4, 5, 6, 9):
        assert "is a symbolic link" in found.checks[number].message, found.checks[number]
    assert "root:" not in str(found)


def test_link_loops_are_survived(make_evidence: MakeEvidence) -> None:
    evidence = make_evidence()
    (evidence.candidate / "a").symlink_to("b")
    (evidence.candidate / "b").symlink_to("a")
    (evidence.candidate / "self").symlink_to(".")
    found = grade(
        evidence,
        {"type": "file_contains", "file": "a/x", "pattern": "x"},
        {"type": "file_exists", "path": "**/x"},
        {"type": "file_contains", "file": "self/self/a", "pattern": "x"},
    )
    assert [check.passed for check in found.checks] == [False] * 3


def test_a_pipe_is_never_opened(make_evidence: MakeEvidence) -> None:
    evidence = make_evidence()
    os.mkfifo(evidence.candidate / "pipe.txt")
    found = grade(
        evidence,
        {"type": "file_contains", "file": "pipe.txt", "pattern": "x"},
        {"type": "file_exists", "path": "*.txt"},
        {"type": "file_matches", "files": "*.txt", "pattern": "x"},
        {"type": "json_path", "file": "pipe.txt", "query": "a", "equals": 1},
        {"type": "command_succeeds", "run": "test ! -e pipe.txt"},
    )
    assert [check.passed for check in found.checks] == [False, False, False, False, True]
    assert "special file" in found.checks[0].message


def test_a_folder_named_like_a_file_is_no_file(make_evidence: MakeEvidence) -> None:
    evidence = make_evidence({"a.py/inner.txt": "class X"})
    found = grade(
        evidence,
        {"type": "file_exists", "path": "a.py"},
        {"type": "file_contains", "file": "a.py", "pattern": "class"},
    )
    assert [check.passed for check in found.checks] == [False, False]


def test_a_repository_in_the_candidate_is_not_looked_at(make_evidence: MakeEvidence) -> None:
    evidence = make_evidence({".git/config.py": "secret", "sub/.git/x.py": "secret"})
    found = grade(
        evidence,
        {"type": "file_matches", "files": "**/*.py", "pattern": "secret"},
        {"type": "command_succeeds", "run": "test ! -e .git && test ! -e sub/.git"},
    )
    assert [check.passed for check in found.checks] == [False, True]


def test_bytes_that_are_no_text_are_searched_all_the_same(make_evidence: MakeEvidence) -> None:
    evidence = make_evidence()
    (evidence.candidate / "latin.py").write_bytes(b"\xef\xbb\xbfclass X\n# caf\xe9 \xff\x00\n")
    found = grade(
        evidence,
        {"type": "file_contains", "file": "latin.py", "pattern": "^class X$"},
        {"type": "file_contains", "file": "latin.py", "pattern": "caf\ufffd"},
        {"type": "json_path", "file": "latin.py", "query": "a", "equals": 1},
    )
    assert [check.passed for check in found.checks] == [True, True, False]
    assert "UTF-8" in found.checks[2].message


def test_names_that_are_no_text_are_told_without_loss(make_evidence: MakeEvidence) -> None:
    evidence = make_evidence()
    (evidence.candidate / os.fsdecode(b"\xff\x1b.py")).write_text("needle\n")
    found = one(evidence, type="file_matches", files="*.py", pattern="needle")
    assert found.passed
    assert found.evidence[0].file == '"\\377\\033.py"'


def test_a_monster_of_a_file_is_a_no(make_evidence: MakeEvidence) -> None:
    evidence = make_evidence()
    with (evidence.candidate / "big.txt").open("wb") as file:
        file.truncate(TEXT_LIMIT * 100)
    found = grade(
        evidence,
        {"type": "file_contains", "file": "big.txt", "pattern": "x"},
        {"type": "file_not_contains", "file": "big.txt", "pattern": "x"},
        {"type": "json_path", "file": "big.txt", "query": "a", "equals": 1},
        {"type": "yaml_path", "file": "big.txt", "query": "a", "equals": 1},
    )
    assert [check.passed for check in found.checks] == [False] * 4
    assert "larger than 10 MB" in found.checks[0].message


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"a": NaN}',
        '{"a": Infinity}',
        '{"a": 1' + "0" * 10_000 + "}",
        "",
        "\x00\x01",
        '{"a": 1} trailing',
    ],
    ids=["deep", "nan", "infinity", "long number", "empty", "binary", "trailing"],
)
def test_malformed_json_is_a_no(make_evidence: MakeEvidence, text: str) -> None:
    found = grade(
        make_evidence({"a.json": text}),
        {"type": "json_path", "file": "a.json", "query": "a", "equals": None},
    )
    assert found.checks[0].passed is False
    assert found.status is GradeStatus.GRADED


@pytest.mark.parametrize(
    "text",
    [
        "a: [" * 10_000,
        "a: &a [x]\nb: &b [*a,*a,*a,*a]\n"
        + "".join(
            f"c{n}: &c{n} [{','.join(['*c' + str(n - 1) if n else '*b'] * 10)}]\n"
            for n in range(12)
        ),
        "a: !!python/object/apply:os.system ['touch /tmp/never']\n",
        "a: 1\n---\na: 2\n",
        "\t- x",
    ],
    ids=["deep", "bomb", "tag", "documents", "tab"],
)
def test_hostile_yaml_is_a_no(make_evidence: MakeEvidence, text: str) -> None:
    found = grade(
        make_evidence({"a.yaml": text}),
        {"type": "yaml_path", "file": "a.yaml", "query": "a", "equals": 2},
    )
    assert found.checks[0].passed is False
    assert found.status is GradeStatus.GRADED


@pytest.mark.slow
def test_a_pattern_without_end_is_the_graders_failure(make_evidence: MakeEvidence) -> None:
    evidence = make_evidence({"a.txt": "a" * 60 + "b\n"}, minutes=0.05)
    found = grade(
        evidence,
        {"type": "file_contains", "file": "a.txt", "pattern": "b"},
        {"type": "file_contains", "file": "a.txt", "pattern": "^(a+)+$"},
        {"type": "file_contains", "file": "a.txt", "pattern": "a"},
        {"type": "file_exists", "path": "a.txt"},
    )
    assert (found.status, found.accepted) == (GradeStatus.FAILED, None)
    assert [check.passed for check in found.checks] == [True, None, True, True]
    assert "took too long and was stopped" in found.checks[1].message
    assert "c1" in found.message


@pytest.mark.slow
def test_patterns_without_end_take_no_time_from_the_others(make_evidence: MakeEvidence) -> None:
    evidence = make_evidence({"a.txt": "a" * 60 + "b\n"}, minutes=0.1)
    endless = [
        {"type": "file_contains", "file": "a.txt", "pattern": f"^(a+)+{end}$"} for end in "cdef"
    ]
    plain = [{"type": "file_matches", "files": "*.txt", "pattern": end} for end in "ab"]
    found = grade(evidence, endless[0], plain[0], *endless[1:], plain[1])
    assert [check.passed for check in found.checks] == [None, True, None, None, None, True]


def test_a_command_that_cannot_start_is_the_graders_failure(make_evidence: MakeEvidence) -> None:
    found = grade(
        make_evidence(FILES), {"type": "command_succeeds", "run": ["no-such-program-anywhere"]}
    )
    assert found.checks[0].passed is None
    assert (found.status, found.accepted) == (GradeStatus.FAILED, None)
    assert "no answer: c0" in found.message


def test_a_command_that_does_not_end_in_time_is_a_no(make_evidence: MakeEvidence) -> None:
    found = one(make_evidence(FILES), type="command_succeeds", run=["sleep", "60"], minutes=0.01)
    assert found.passed is False
    assert "did not end within 0.01 minutes" in found.message


def test_a_command_works_on_a_copy_without_our_environment(
    make_evidence: MakeEvidence, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_TOKEN", "secret")
    evidence = make_evidence(FILES)
    found = grade(
        evidence,
        {"type": "command_succeeds", "run": "rm -rf src && echo x > new.txt"},
        {"type": "command_succeeds", "run": "test -d src && test ! -e new.txt"},
        {"type": "command_succeeds", "run": 'test -z "$MY_TOKEN" && test "$HOME" != /root'},
        {"type": "command_succeeds", "run": ["{python}", "-c", "import os; os.stat('src')"]},
    )
    assert [check.passed for check in found.checks] == [True] * 4
    assert (evidence.candidate / "src/service.py").is_file()
    assert not (evidence.candidate / "new.txt").exists()


def test_a_command_may_be_a_script_of_the_candidate(make_evidence: MakeEvidence) -> None:
    evidence = make_evidence({"scripts/check.sh": "#!/bin/sh\ntest -f ok\n", "ok": ""})
    (evidence.candidate / "scripts/check.sh").chmod(0o755)
    assert one(evidence, type="command_succeeds", run=["scripts/check.sh"]).passed is True


# --- the change -------------------------------------------------------------------------------

CHANGE = (
    ChangedFile(status="modified", path="src/a.py", insertions=10, deletions=2),
    ChangedFile(status="renamed", path="src/b.py", old_path="lib/b.py", insertions=0, deletions=0),
    ChangedFile(status="added", path="img.png"),
    ChangedFile(status="added", path='"caf\\351.txt"', insertions=1, deletions=0),
)


@pytest.mark.parametrize(
    ("check", "passed", "files"),
    [
        ({"type": "changed_only", "paths": ["src/", "lib/", "*.png", "*.txt"]}, True, []),
        (
            {"type": "changed_only", "paths": ["src/"]},
            False,
            ["lib/b.py", "img.png", '"caf\\351.txt"'],
        ),
        ({"type": "not_changed", "paths": ["tests/", "**/*.toml"]}, True, []),
        ({"type": "not_changed", "paths": ["lib"]}, False, ["lib/b.py"]),
        ({"type": "max_changed_files", "count": 4}, True, []),
        (
            {"type": "max_changed_files", "count": 3},
            False,
            ["src/a.py", '"caf\\351.txt"', "img.png", "src/b.py"],
        ),
        ({"type": "max_changed_lines", "count": 13}, True, []),
        (
            {"type": "max_changed_lines", "count": 12},
            False,
            ["src/a.py", '"caf\\351.txt"', "img.png", "src/b.py"],
        ),
    ],
)
def test_the_change_is_held_against_its_bounds(
    make_evidence: MakeEvidence, check: dict[str, Any], passed: bool, files: list[str]
) -> None:
    found = grade(make_evidence(baseline={}, changed=CHANGE), check).checks[0]
    assert found.passed is passed, found.message
    assert [finding.file for finding in found.evidence] == files


def test_binary_files_are_told_where_lines_are_counted(make_evidence: MakeEvidence) -> None:
    found = one(make_evidence(baseline={}, changed=CHANGE), type="max_changed_lines", count=50)
    assert found.message == "13 lines changed, 50 allowed; 1 binary files have no lines to count"


def test_no_change_at_all_stays_inside_anything(make_evidence: MakeEvidence) -> None:
    assert one(make_evidence(baseline={}), type="changed_only", paths=["src/"]).passed is True


@pytest.mark.parametrize("kind", ["changed_only", "not_changed"])
def test_without_a_baseline_a_change_cannot_be_judged(
    make_evidence: MakeEvidence, kind: str
) -> None:
    found = grade(make_evidence(FILES), {"type": kind, "paths": ["src/"]})
    assert found.checks[0].passed is None
    assert found.status is GradeStatus.FAILED


# --- authoring --------------------------------------------------------------------------------


def problems(folder: Path, text: str) -> list[str]:
    (folder / "checks.yaml").write_text(text)
    return [str(p) for p in ChecksGrader().problems({"file": "checks.yaml"}, folder)]


def test_every_mistake_is_told_with_its_place(tmp_path: Path) -> None:
    found = problems(
        tmp_path,
        """\
checks:
  - id: a
    type: file_contains
    file: /etc/passwd
    pattern: "("
  - id: a
    type: file_exists
    path: ../x
  - {id: b, type: file_contians, file: x, pattern: y}
  - id: c
    type: json_path
    file: a.json
    query: a..b
    equals: 1
  - id: d
    type: file_contains
    file: src/*.py
    pattern: x
  - id: e
    type: file_contains
    file: a.py
  - {id: f, type: command_succeeds, run: " "}
  - {id: g, type: not_changed, paths: ["a//b"]}
""",
    )
    text = "\n".join(found)
    for place, words in [
        ("checks.yaml:4:11:", "relative path"),
        ("checks.yaml:5:14:", "invalid regular expression"),
        ("checks.yaml:6:9:", "the id 'a' is taken"),
        ("checks.yaml:8:11:", "relative path"),
        ("checks.yaml:9:", "file_contians"),
        ("checks.yaml:13:12:", "expected a key at character 3"),
        ("checks.yaml:17:11:", "is a pattern"),
        ("checks.yaml:19:", "pattern"),
        ("checks.yaml:22:", "the command is empty"),
        ("checks.yaml:23:", "empty part"),
    ]:
        assert any(line.startswith(place) and words in line for line in found), (place, text)
    assert len(found) == 10, text


@pytest.mark.parametrize(
    "text", ["", "checks:\n", "checks: []\n", "- a\n", "checks: {\n", "a: 1\n"]
)
def test_a_file_without_checks_is_a_mistake(tmp_path: Path, text: str) -> None:
    assert problems(tmp_path, text)


def test_a_missing_file_of_checks_is_a_mistake(tmp_path: Path) -> None:
    assert [str(p) for p in ChecksGrader().problems({"file": "none.yaml"}, tmp_path)]


def test_grading_with_a_broken_file_of_checks_is_refused(make_evidence: MakeEvidence) -> None:
    with pytest.raises(TrialbookError, match="invalid regular expression"):
        grade(make_evidence(FILES), {"type": "file_contains", "file": "a", "pattern": "["})


def test_the_same_evidence_gives_the_same_grade(
    make_evidence: MakeEvidence, tmp_path: Path
) -> None:
    evidence = make_evidence(FILES)
    checks: list[dict[str, Any]] = [
        {"type": "file_matches", "files": "**/*", "pattern": "e"},
        {"type": "command_succeeds", "run": "pwd; false"},
    ]
    first = grade(evidence, *checks)
    evidence.scratch.rename(tmp_path / "used")
    evidence.scratch.mkdir()
    assert grade(evidence, *checks) == first


def test_a_command_is_told_as_it_is_readable(make_evidence: MakeEvidence) -> None:
    argv = ["{python}", "-c", "import sys; sys.exit(len('a b') - 3)"]
    found = one(make_evidence(FILES), type="command_succeeds", run=argv)
    assert found.passed is True
    assert found.message.startswith("python -c 'import sys; ")
    assert "{python}" not in found.message
