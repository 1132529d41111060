from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import git, trialbook, write_files

from trialbook.errors import EnvironmentProblem, Refused, UserError
from trialbook.formats.authored import parse_document
from trialbook.formats.records import from_json, to_json
from trialbook.formats.schema import check_schema, load_schema
from trialbook.model.lock import Lock, lock_digest
from trialbook.model.validation import MatrixRow, Row, RowStatus
from trialbook.registry import Registry
from trialbook.storage.lock import freeze, lock_path, read_lock
from trialbook.storage.suites import load_suite
from trialbook.system import System
from trialbook.workflow.host import this_runner
from trialbook.workflow.locking import (
    Locking,
    bump_suite,
    lock_state,
    lock_suite,
    refuse_drift,
)
from trialbook.workflow.sandboxes import strongest
from trialbook.workflow.validation import Room, validate
from trialbook_graders.checks import ChecksGrader

SUITE = """\
# The rules.
suite: shop
protocol: 1   # raised by `suite bump`
decision: Is the answer right?
configurations: [good]
repetitions: 1
accept: {accept}
"""
TASK = """\
task: sums
snapshot: {folder: ../../snapshots/start}
graders:
  - checks: checks.yaml
  - acceptance: {tests: private/tests, expect: private/expected.json}
reference: {overlay: private/reference}
near_misses:
  off-by-one: {overlay: private/near}
  by-command:
    run: ["{python}", "-B", "{files}/wrong.py", "{task}"]
    files: tools
variants:
  patched: private/variant.patch
"""
FILES = {
    "suite.yaml": SUITE.format(accept="checks and acceptance"),
    "configurations/good.yaml": (
        "configuration: good\nagent: replay\ninstructions: plain\nfiles: recordings/{task}\n"
    ),
    "instructions/plain/AGENTS.md": "Be plain.\n",
    "recordings/sums/overlay/total.txt": "3\n",
    "snapshots/start/README.md": "# sums\n",
    "tools/wrong.py": (
        "import sys\nopen('total.txt', 'w').write('33\\n')\nassert sys.argv[1] == 'sums'\n"
    ),
    "tasks/sums/task.yaml": TASK,
    "tasks/sums/brief.md": "Write 1 + 2 into total.txt.\n",
    "tasks/sums/checks.yaml": (
        "checks:\n  - id: there\n    question: Is it there?\n"
        "    type: file_exists\n    path: total.txt\n"
    ),
    "tasks/sums/private/tests/test_total.py": (
        "import os, pathlib\n"
        "def test_total():\n"
        "    top = pathlib.Path(os.environ['TRIALBOOK_CANDIDATE'])\n"
        "    assert (top / 'total.txt').read_text().strip() == '3'\n"
        "def test_must_fail():\n    assert False\n"
    ),
    "tasks/sums/private/expected.json": json.dumps(
        {"passed": ["test_total::test_total"], "must_fail": ["test_total::test_must_fail"]}
    ),
    "tasks/sums/private/reference/total.txt": "3\n",
    "tasks/sums/private/near/total.txt": "4\n",
    "tasks/sums/private/variant.patch": (
        "diff --git a/total.txt b/total.txt\nnew file mode 100644\n"
        "index 0000000000000000000000000000000000000000..00750edc07d6415dcc07ae0351e9397b0222b7ba\n"
        "--- /dev/null\n+++ b/total.txt\n@@ -0,0 +1 @@\n+ 3\n"
    ),
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A ledger in git with one suite that has everything a validation can use."""
    folder = tmp_path / "ledger"
    write_files(folder / "suites" / "shop", FILES)
    git(tmp_path, "init", "-q", "-b", "main", str(folder))
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "start")
    return folder


def change(root: Path, path: str, old: str, new: str) -> None:
    file = root / "suites" / "shop" / path
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def room(root: Path, told: list[str] | None = None) -> Room:
    return Room(
        root=root,
        registry=Registry(),
        system=System(),
        jobs=2,
        tell=lambda done, total, last: None if told is None else told.append(last),
        cancel=threading.Event(),
    )


def lock(root: Path) -> Locking:
    return lock_suite("shop", room(root))


def validate_shop(root: Path) -> tuple[MatrixRow, ...]:
    return validate(load_suite(root, "shop", Registry()), room(root)).rows


def commit(root: Path) -> None:
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "lock")


def lock_without_validation(root: Path) -> None:
    """A lock of the files as they are, as `suite lock` would write it after its matrix."""
    suite = load_suite(root, "shop", Registry())
    frozen = freeze(root, suite, Registry())
    made = Lock(
        suite="shop",
        protocol=suite.protocol,
        created="2026-11-30T15:00:00.000Z",
        locked_by=None,
        as_root=False,
        runner=this_runner(),
        digest=lock_digest(frozen.files),
        rules=frozen.rules,
        graders=frozen.graders,
        tasks=frozen.tasks,
        configurations=frozen.configurations,
        files=frozen.files,
        matrix=(),
    )
    path = root / lock_path("shop", suite.protocol)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(to_json(made))


# --- locking -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_suite_whose_graders_are_right_is_locked_with_what_they_said(root: Path) -> None:
    told: list[str] = []
    locking = lock_suite("shop", room(root, told))
    assert locking.made, locking.rows
    assert {(row.row, row.case): (row.status, row.repeats) for row in locking.rows} == {
        (Row.BASE, ""): (RowStatus.PASSED, 5),
        (Row.EMPTY, ""): (RowStatus.PASSED, 1),
        (Row.REFERENCE, ""): (RowStatus.PASSED, 5),
        (Row.NEAR_MISS, "by-command"): (RowStatus.PASSED, 1),
        (Row.NEAR_MISS, "off-by-one"): (RowStatus.PASSED, 1),
        (Row.VARIANT, "patched"): (RowStatus.PASSED, 1),
        (Row.LEAK, ""): (RowStatus.NOT_GIVEN, 0),
    }
    assert len(told) == 14
    assert "sums near miss off-by-one: rejected" in told

    stored = read_lock(root, "shop", 1)
    assert stored is not None
    made = stored.lock
    assert (made.suite, made.protocol) == ("shop", 1)
    assert made.locked_by == "Test Person <test@example.invalid>"
    assert made.as_root == (os.geteuid() == 0)
    assert made.sandbox == strongest(Registry())
    assert made.matrix == locking.rows
    assert made.digest == lock_digest(made.files)
    assert set(made.files) == {f"suites/shop/{name}" for name in FILES}
    tree = git(root, "rev-parse", "HEAD:suites/shop/snapshots/start").strip()
    assert made.tasks["sums"].tree == tree
    document, _ = parse_document(stored.data.decode(), stored.path)
    assert document is not None
    assert check_schema(document, load_schema("lock")) == []

    again = lock(root)
    assert not again.made
    assert again.state.stored == stored
    assert again.rows == made.matrix


ANYTHING_GOES = {
    "checks.yaml": (
        "checks:\n  - id: readme\n    question: Is it there?\n"
        "    type: file_exists\n    path: README.md\n"
    ),
    "private/tests/test_total.py": FILES["tasks/sums/private/tests/test_total.py"].replace(
        "(top / 'total.txt').read_text().strip() == '3'", "len(list(top.iterdir())) > 1"
    ),
}
BLOCKS: dict[str, tuple[Callable[[Path], None], str, RowStatus]] = {
    "the base is accepted": (
        lambda root: write_files(root / "suites/shop/snapshots/start", {"total.txt": "3\n"}),
        "sums base",
        RowStatus.FAILED,
    ),
    "the reference is rejected": (
        lambda root: change(root, "tasks/sums/private/reference/total.txt", "3", "5"),
        "sums reference",
        RowStatus.FAILED,
    ),
    "a near miss is accepted": (
        lambda root: change(root, "tasks/sums/private/near/total.txt", "4", "3 "),
        "sums near-miss off-by-one",
        RowStatus.FAILED,
    ),
    "a variant is rejected": (
        lambda root: change(root, "tasks/sums/private/variant.patch", "+ 3", "+ 4"),
        "sums variant patched",
        RowStatus.FAILED,
    ),
    "a near miss cannot be made": (
        lambda root: change(root, "tools/wrong.py", "import sys", "raise SystemExit('no way')"),
        "sums near-miss by-command",
        RowStatus.BROKEN,
    ),
    "a near miss changes nothing": (
        lambda root: change(root, "tools/wrong.py", "open(", "str("),
        "sums near-miss by-command",
        RowStatus.BROKEN,
    ),
    "a patch does not fit": (
        lambda root: change(root, "tasks/sums/private/variant.patch", "total.txt", "README.md"),
        "sums variant patched",
        RowStatus.BROKEN,
    ),
    "a change that does nothing is accepted": (
        lambda root: write_files(root / "suites/shop/tasks/sums", ANYTHING_GOES),
        "sums empty",
        RowStatus.FAILED,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BLOCKS)
def test_a_row_that_fails_or_breaks_keeps_the_suite_from_being_locked(
    root: Path, name: str
) -> None:
    spoil, row, status = BLOCKS[name]
    spoil(root)
    locking = lock(root)
    assert not locking.made
    assert read_lock(root, "shop", 1) is None
    found = {one.name: one for one in locking.blocking}
    assert row in found, locking.blocking
    assert found[row].status is status
    assert found[row].reason


NOTES = "".join(f"We add up number {n} and its neighbour {n}.\n" for n in ("one", "two", "three"))
LEAK_WAIVER = """\
waivers:
  - {task: sums, row: leak, reason: The instructions are what is measured here.}
"""


@pytest.mark.slow
def test_an_answer_that_agents_can_read_keeps_the_suite_from_being_locked_unless_waived(
    root: Path,
) -> None:
    write_files(root / "suites/shop/tasks/sums/private/reference", {"notes.md": NOTES})
    hints = "# Hints\n\n" + NOTES.replace(" and", "\tand")
    write_files(root / "suites/shop/instructions/plain", {"HINTS.md": hints})
    locking = lock(root)
    (row,) = locking.blocking
    assert (row.row, row.status) == (Row.LEAK, RowStatus.FAILED)
    where = "HINTS.md:3: in the instructions plain: it has 3 of the 3 lines of the answer"
    assert where in row.reason
    assert "neighbour" not in row.reason
    done = trialbook(root, "suite", "lock", "shop", check=2)
    assert where in " ".join(done.stdout.split())

    (root / "suites/shop/instructions/plain/HINTS.md").rename(root / "HINTS.md")
    (row,) = [row for row in validate_shop(root) if row.row is Row.LEAK]
    assert row.status is RowStatus.PASSED
    assert row.reason.startswith("1 file and 3 lines of the answer, looked for in ")
    (root / "HINTS.md").rename(root / "suites/shop/instructions/plain/HINTS.md")
    suite = root / "suites/shop/suite.yaml"
    suite.write_text(suite.read_text() + LEAK_WAIVER)
    locking = lock(root)
    assert locking.made
    (row,) = [row for row in locking.rows if row.row is Row.LEAK]
    assert (row.status, row.waiver) == (
        RowStatus.WAIVED,
        "The instructions are what is measured here.",
    )


WAIVER = """\
waivers:
  - {task: sums, row: near-miss, case: off-by-one, reason: The tests do not look at it yet.}
  - {task: sums, row: variant, reason: There was one that was not accepted.}
"""


@pytest.mark.slow
def test_a_waiver_lets_the_suite_be_locked_and_one_too_many_is_told(root: Path) -> None:
    change(root, "tasks/sums/private/near/total.txt", "4", "3 ")
    suite = root / "suites/shop/suite.yaml"
    suite.write_text(suite.read_text() + WAIVER)
    locking = lock(root)
    assert locking.made
    waived = [row for row in locking.rows if row.status is RowStatus.WAIVED]
    assert [row.name for row in waived] == ["sums near-miss off-by-one"]
    assert waived[0].waiver == "The tests do not look at it yet."
    assert [waiver.row for waiver in locking.unneeded] == [Row.VARIANT]


@pytest.mark.slow
def test_a_suite_that_changes_while_it_is_validated_is_not_locked(root: Path) -> None:
    def meddle(done: int, total: int, last: str) -> None:
        del total, last
        if done == 1:
            change(root, "tasks/sums/brief.md", "Write", "Please write")

    meddling = Room(
        root=root,
        registry=Registry(),
        system=System(),
        jobs=1,
        tell=meddle,
        cancel=threading.Event(),
    )
    with pytest.raises(UserError, match="changed while it was validated"):
        lock_suite("shop", meddling)
    assert read_lock(root, "shop", 1) is None


def test_a_validation_that_is_stopped_locks_nothing(root: Path) -> None:
    stopped = room(root)
    stopped.cancel.set()
    with pytest.raises(KeyboardInterrupt):
        lock_suite("shop", stopped)
    assert read_lock(root, "shop", 1) is None


def test_a_snapshot_that_cannot_be_had_is_an_error_and_no_row(root: Path) -> None:
    change(root, "tasks/sums/task.yaml", "{folder: ../../snapshots/start}", "{folder: gone}")
    with pytest.raises((UserError, Refused, EnvironmentProblem), match="gone"):
        lock(root)


# --- drift ---------------------------------------------------------------------------------------


DRIFT = {
    "suite.yaml": ("suite.yaml", "Is the", "Was the"),
    "task.yaml": ("tasks/sums/task.yaml", "by-command:", "by-a-command:"),
    "brief": ("tasks/sums/brief.md", "Write", "Put"),
    "checks": ("tasks/sums/checks.yaml", "Is it", "Was it"),
    "private test": ("tasks/sums/private/tests/test_total.py", "'3'", "'4'"),
    "expectation": ("tasks/sums/private/expected.json", "{", "{ "),
    "reference": ("tasks/sums/private/reference/total.txt", "3", "3 "),
    "near miss": ("tasks/sums/private/near/total.txt", "4", "5"),
    "near miss's program": ("tools/wrong.py", "33", "34"),
    "configuration": ("configurations/good.yaml", "good\n", "good\nmodel: other\n"),
    "instruction": ("instructions/plain/AGENTS.md", "plain", "brief"),
    "recording": ("recordings/sums/overlay/total.txt", "3", "4"),
    "snapshot": ("snapshots/start/README.md", "sums", "sum"),
    "requirements": ("requirements.txt", "9.2.0", "9.3.0"),
}


@pytest.mark.parametrize("kind", DRIFT)
def test_every_kind_of_file_is_named_when_it_is_not_as_locked(root: Path, kind: str) -> None:
    write_files(root / "suites/shop", {"requirements.txt": "pytest==9.2.0\n"})
    change(
        root,
        "suite.yaml",
        "repetitions",
        "toolchain: {requirements: requirements.txt}\nrepetitions",
    )
    lock_without_validation(root)
    suite = load_suite(root, "shop", Registry())
    assert lock_state(root, suite, Registry()).differing == ()
    path, old, new = DRIFT[kind]
    change(root, path, old, new)
    state = lock_state(root, load_suite(root, "shop", Registry()), Registry())
    assert [str(one) for one in state.differing] == [f"suites/shop/{path}: changed"]
    with pytest.raises(UserError) as caught:
        refuse_drift(state)
    assert f"suites/shop/{path}: changed" in caught.value.message
    assert "git checkout" in caught.value.hint
    assert "trialbook suite bump shop" in caught.value.hint


def test_a_file_that_is_new_gone_or_of_another_mode_is_named(root: Path) -> None:
    lock_without_validation(root)
    top = root / "suites/shop"
    write_files(top, {"tasks/sums/private/tests/conftest.py": ""})
    (top / "recordings/sums/overlay/total.txt").unlink()
    (top / "recordings/sums/overlay/other.txt").symlink_to("total.txt")
    (top / "tools/wrong.py").chmod(0o755)
    state = lock_state(root, load_suite(root, "shop", Registry()), Registry())
    assert [str(one) for one in state.differing] == [
        "suites/shop/recordings/sums/overlay/other.txt: new",
        "suites/shop/recordings/sums/overlay/total.txt: gone",
        "suites/shop/tasks/sums/private/tests/conftest.py: new",
        "suites/shop/tools/wrong.py: mode 100755, locked 100644",
    ]


def test_a_grader_of_another_version_is_named(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock_without_validation(root)
    monkeypatch.setattr(ChecksGrader, "version", "99")
    state = lock_state(root, load_suite(root, "shop", Registry()), Registry())
    assert [one.where for one in state.differing] == ["grader checks"]
    assert "version 99" in str(state.differing[0])


def test_what_is_no_part_of_the_measurement_may_change(root: Path) -> None:
    lock_without_validation(root)
    write_files(
        root / "suites/shop",
        {
            "README.md": "words\n",
            "configurations/unlisted.yaml": "configuration: unlisted\nagent: replay\n",
        },
    )
    state = lock_state(root, load_suite(root, "shop", Registry()), Registry())
    assert state.differing == ()


def test_a_suite_that_is_not_as_locked_is_not_locked_again(root: Path) -> None:
    lock_without_validation(root)
    change(root, "tasks/sums/brief.md", "Write", "Put")
    with pytest.raises(UserError, match=r"tasks/sums/brief\.md: changed") as caught:
        lock(root)
    assert "no commit has this lock" in caught.value.hint
    commit(root)
    with pytest.raises(UserError) as caught:
        lock(root)
    assert "no commit has this lock" not in caught.value.hint


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda data: data[:-20], "not a lock record"),
        (lambda data: data.replace(b'"protocol": 1', b'"protocol": 2'), "is the lock of shop@2"),
        (lambda data: data.replace(b'"100644 ', b'"100755 ', 1), "its digest is not that"),
    ],
)
def test_a_damaged_lock_is_an_error(
    root: Path, spoil: Callable[[bytes], bytes], words: str
) -> None:
    lock_without_validation(root)
    path = root / lock_path("shop", 1)
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(UserError, match=words) as caught:
        lock_state(root, load_suite(root, "shop", Registry()), Registry())
    assert "git checkout -- suites/shop/locks/1.json" in caught.value.hint


# --- git -----------------------------------------------------------------------------------------


def reason(root: Path) -> str:
    return lock_state(root, load_suite(root, "shop", Registry()), Registry()).draft_because


def test_a_run_is_no_draft_once_the_lock_is_committed_with_what_it_locks(root: Path) -> None:
    assert reason(root) == "protocol 1 of the suite is not locked"
    lock_without_validation(root)
    assert "suites/shop/locks/1.json: not committed" in reason(root)
    commit(root)
    assert reason(root) == ""


def test_files_that_are_committed_otherwise_than_locked_are_found(root: Path) -> None:
    change(root, "tasks/sums/brief.md", "Write", "Put")
    lock_without_validation(root)
    git(root, "add", "suites/shop/locks")
    git(root, "commit", "-q", "-m", "only the lock")
    assert "brief.md: committed with other bytes or another mode" in reason(root)
    git(root, "rm", "-q", "--cached", "suites/shop/tasks/sums/brief.md")
    git(root, "commit", "-q", "-m", "without the brief")
    assert "brief.md: not committed" in reason(root)


def test_private_files_may_be_kept_out_of_git(root: Path) -> None:
    lock_without_validation(root)
    git(root, "rm", "-q", "-r", "--cached", "suites/shop/tasks/sums/private")
    git(root, "add", "suites/shop/locks")
    git(root, "commit", "-q", "-m", "lock, without the private parts")
    assert reason(root) == ""


def test_line_ends_that_git_converts_are_found(root: Path) -> None:
    (root / ".gitattributes").write_text("*.md text eol=lf\n")
    (root / "suites/shop/tasks/sums/brief.md").write_bytes(b"Write 3.\r\n")
    lock_without_validation(root)
    commit(root)
    assert "brief.md: committed with other bytes" in reason(root)


def test_a_ledger_outside_of_git_can_be_locked_and_says_that_it_proves_nothing(
    root: Path, tmp_path: Path
) -> None:
    bare = tmp_path / "elsewhere"
    shutil.copytree(root / "suites", bare / "suites")
    lock_without_validation(bare)
    assert "in no git repository" in reason(bare)


# --- bump ----------------------------------------------------------------------------------------


def test_bump_opens_the_next_number_and_says_what_differs(root: Path) -> None:
    lock_without_validation(root)
    change(root, "tasks/sums/brief.md", "Write", "Put")
    bump = bump_suite(root, "shop", Registry())
    assert (bump.before, bump.protocol) == (1, 2)
    assert [str(one) for one in bump.differing] == ["suites/shop/tasks/sums/brief.md: changed"]
    text = (root / "suites/shop/suite.yaml").read_text()
    assert text == FILES["suite.yaml"].replace("protocol: 1", "protocol: 2")
    assert reason(root) == "protocol 2 of the suite is not locked"
    assert read_lock(root, "shop", 1) is not None


def test_bump_opens_nothing_where_nothing_differs_or_nothing_is_locked(root: Path) -> None:
    with pytest.raises(UserError, match="open already"):
        bump_suite(root, "shop", Registry())
    lock_without_validation(root)
    with pytest.raises(UserError, match="nothing differs"):
        bump_suite(root, "shop", Registry())
    assert (root / "suites/shop/suite.yaml").read_text() == FILES["suite.yaml"]


def test_bump_passes_over_numbers_that_were_locked(root: Path) -> None:
    lock_without_validation(root)
    change(root, "suite.yaml", "protocol: 1", "protocol: 2")
    lock_without_validation(root)
    change(root, "suite.yaml", "protocol: 2", "protocol: 1")
    change(root, "tasks/sums/brief.md", "Write", "Put")
    assert bump_suite(root, "shop", Registry()).protocol == 3


def test_a_lock_is_a_record_that_comes_back_as_it_was(root: Path) -> None:
    lock_without_validation(root)
    data = (root / lock_path("shop", 1)).read_bytes()
    assert to_json(from_json(Lock, data, "lock")) == data
