from __future__ import annotations

from pathlib import Path

import pytest
from tests.conftest import write_files

from trialbook.model.validation import Row, Waiver
from trialbook.registry import Registry
from trialbook.storage.suites import check_suite, load_suite

SUITE = """\
suite: mini
protocol: 1
decision: Which?
configurations: [only]
accept: checks
"""
TASK = """\
task: one
snapshot: {folder: ../../snapshots/one}
graders:
  - checks: checks.yaml
"""
FILES = {
    "suite.yaml": SUITE,
    "configurations/only.yaml": "configuration: only\nagent: replay\nfiles: recordings\n",
    "recordings/stdout.txt": "x\n",
    "snapshots/one/README.md": "x\n",
    "tools/make.py": "pass\n",
    "tasks/one/task.yaml": TASK,
    "tasks/one/brief.md": "Do.\n",
    "tasks/one/checks.yaml": (
        "checks:\n  - {id: a, question: Is it?, type: file_exists, path: README.md}\n"
    ),
    "tasks/one/private/near.patch": "x\n",
    "tasks/one/private/other/a.txt": "x\n",
}


def problems(root: Path, task: str = "", suite: str = "") -> list[str]:
    """What `suite check` says of the suite with lines added to its files."""
    top = root / "suites" / "mini"
    write_files(top, FILES)
    write_files(top, {"tasks/one/task.yaml": TASK + task, "suite.yaml": SUITE + suite})
    return [str(one) for one in check_suite(root, "mini", Registry())]


def test_near_misses_and_variants_are_read_in_every_form_and_frozen(tmp_path: Path) -> None:
    task = """\
near_misses:
  patched: private/near.patch
  laid: {overlay: private/other}
  made: {run: ["{python}", "{files}/make.py", "{{x}}"], files: tools}
variants:
  elsewhere: {folder: ../../recordings, into: docs}
fail_to_pass: [a]
"""
    assert problems(tmp_path, task) == []
    loaded = load_suite(tmp_path, "mini", Registry()).tasks[0]
    assert [one.name for one in loaded.near_misses] == ["laid", "made", "patched"]
    assert loaded.near_misses[1].run == ("{python}", "{files}/make.py", "{{x}}")
    assert loaded.near_misses[1].files == "tools"
    assert [one.name for one in loaded.variants] == ["elsewhere"]
    assert loaded.fail_to_pass == ("a",)
    assert "suites/mini/tools/make.py" in loaded.files
    assert "suites/mini/tasks/one/private/near.patch" in loaded.files


def test_the_scope_of_a_task_is_read_and_has_to_stay_in_the_workspace(tmp_path: Path) -> None:
    assert problems(tmp_path, 'scope: [src, "tests/**", "!src/gen"]\n') == []
    loaded = load_suite(tmp_path, "mini", Registry()).tasks[0]
    assert loaded.scope == ("src", "tests/**", "!src/gen")
    for wrong in ("/src", "../src", '"!/src"'):
        assert "must be a relative path" in problems(tmp_path, f"scope: [{wrong}]\n")[0]


FILE = "suites/mini/tasks/one/task.yaml"


@pytest.mark.parametrize(
    ("task", "said"),
    [
        (
            "near_misses: {x: private/gone.patch}\n",
            "5:18: there is no file `suites/mini/tasks/one/private/gone.patch`",
        ),
        ("variants: {x: {overlay: gone}}\n", "there is no folder `suites/mini/tasks/one/gone`"),
        ("near_misses: {x: {run: [a], files: gone}}\n", "there is no folder `suites/mini/gone`"),
        ("near_misses: {x: {run: [a], files: tasks}}\n", "holds the private part of a task"),
        ("near_misses: {x: {run: ['{file}']}}\n", "unknown placeholder `{file}`; did you mean"),
        ("near_misses: {x: {run: ['{files}/a']}}\n", "there are no {files}; name the folder"),
        ("near_misses: {x: {run: ['a{']}}\n", "a lone brace"),
        ("near_misses: {x: {run: [a], path: b}}\n", "has keys that do not belong to `run`"),
        ("near_misses: {x: {overlay: private/other, files: tools}}\n", "overlay"),
        ("near_misses: {Big: private/near.patch}\n", "`Big`"),
        ("near_misses: {}\n", "`near_misses` is empty"),
        ("protected: [README.md]\n", "protected files are for tasks that must be handed back"),
        (
            "must_escalate: true\nno_change_expected: true\n",
            "cannot ask for no change and for being handed back",
        ),
        ("fail_to_pass: [a]\npass_to_pass: [b, a]\n", "`a` is in `fail_to_pass` too"),
    ],
)
def test_a_mistake_in_what_is_given_for_validation_is_told_at_its_place(
    tmp_path: Path, task: str, said: str
) -> None:
    found = problems(tmp_path, task)
    assert any(said in one for one in found), found
    assert all(one.startswith(f"{FILE}:") for one in found)


REASON = "reason: It is known and told in the report."


def test_waivers_are_read(tmp_path: Path) -> None:
    task = "near_misses: {patched: private/near.patch}\n"
    suite = f"waivers:\n  - {{task: one, row: near-miss, case: patched, {REASON}}}\n"
    assert problems(tmp_path, task, suite) == []
    assert load_suite(tmp_path, "mini", Registry()).waivers == (
        Waiver(
            task="one",
            row=Row.NEAR_MISS,
            case="patched",
            reason="It is known and told in the report.",
        ),
    )


@pytest.mark.parametrize(
    ("waiver", "said"),
    [
        (f"{{task: on, row: base, {REASON}}}", "7:12: there is no task `on`; did you mean `one`?"),
        (f"{{task: one, row: bas, {REASON}}}", "7:22: `row` must be"),
        (
            f"{{task: one, row: variant, case: x, {REASON}}}",
            "the task one has no `x` under `variants`",
        ),
        (f"{{task: one, row: base, case: x, {REASON}}}", "the row `base` has no cases"),
        ("{task: one, row: base, reason: because}", "`reason` is shorter than 20 characters"),
        ("{task: one, row: base}", "the key `reason` is missing"),
        (
            f"{{task: one, row: base, {REASON}}}\n  - {{task: one, row: base, {REASON}}}",
            "8:5: this row is waived twice",
        ),
    ],
)
def test_a_mistake_in_a_waiver_is_told_at_its_place(tmp_path: Path, waiver: str, said: str) -> None:
    found = problems(tmp_path, suite=f"waivers:\n  - {waiver}\n")
    assert any(said in one for one in found), found
    assert all(one.startswith("suites/mini/suite.yaml:") for one in found)
