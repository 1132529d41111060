from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from trialbook.api import Evidence, Grade, GradeStatus, TrialbookError
from trialbook_graders.acceptance import AcceptanceGrader

from .conftest import MakeEvidence, write_files

WRONG = "def add(a, b):\n    return a - b\n"
RIGHT = "def add(a, b):\n    return a + b\n"
TEXT = "def shout(text):\n    return text.upper()\n"
BASE = {"calc/__init__.py": WRONG, "text.py": TEXT, "README.md": "calc\n"}

APART = {
    "test_private.py": """\
import json, os, subprocess, sys

CANDIDATE = os.environ["TRIALBOOK_CANDIDATE"]

def child(code):
    code = f"import sys, json; sys.path.insert(0, {CANDIDATE!r})\\n{code}"
    done = subprocess.run([sys.executable, "-I", "-B", "-c", code], capture_output=True, timeout=20)
    return json.loads(done.stdout)

def test_add():
    said = child("from calc import add; r = add(2, 2); print(json.dumps([str(type(r)), repr(r)]))")
    assert said == ["<class 'int'>", "4"]

def test_text():
    assert child("from text import shout; print(json.dumps(shout('a')))") == "A"

def test_sentinel_must_fail():
    assert False, "sentinel"
"""
}
PLACED = {
    "test_private.py": """\
from calc import add

def test_add():
    assert add(2, 2) == 4

def test_sentinel_must_fail():
    assert False, "sentinel"
""",
    "test_private_text.py": """\
from text import shout

def test_text():
    assert shout("a") == "A"
""",
}
APART_IDS = {
    "passed": ["test_private::test_add", "test_private::test_text"],
    "must_fail": ["test_private::test_sentinel_must_fail"],
}
PLACED_IDS = {
    "passed": ["tests.test_private::test_add", "tests.test_private_text::test_text"],
    "must_fail": ["tests.test_private::test_sentinel_must_fail"],
}

FLIP = """\
import pytest

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    report.outcome, report.longrepr = "passed", None
"""
PATCH = """\
import sys
if "_pytest.reports" in sys.modules:
    from _pytest.reports import TestReport
    original = TestReport.from_item_and_call.__func__
    def forged(cls, item, call):
        report = original(cls, item, call)
        report.outcome, report.longrepr = "passed", None
        return report
    TestReport.from_item_and_call = classmethod(forged)
"""
EQUAL = """\
class Anything:
    def __eq__(self, other):
        return True
    def __repr__(self):
        return "0"
def add(a, b):
    return Anything()
"""

# Attacks of an agent that did not do the task: what it leaves, by the name of the attack.
TAMPER: dict[str, dict[str, str]] = {
    "conftest-flips-outcomes": {"conftest.py": FLIP},
    "conftest-in-tests-flips-outcomes": {"tests/conftest.py": FLIP},
    "exit-in-conftest": {"conftest.py": "import os\nos._exit(0)\n"},
    "exit-on-import": {"calc/__init__.py": "import os\nos._exit(0)\n" + WRONG},
    "patched-report": {"calc/__init__.py": PATCH + WRONG},
    "equal-to-anything": {"calc/__init__.py": EQUAL},
    "deselected": {
        "pytest.ini": "[pytest]\naddopts = --deselect tests/test_private.py::test_add\n"
    },
    "module-skipped": {
        "calc/__init__.py": "import pytest\npytest.skip('no', allow_module_level=True)\n"
    },
    "test-skipped": {"calc/__init__.py": "import pytest\ndef add(a, b):\n    pytest.skip('no')\n"},
    "xfailed": {"calc/__init__.py": "import pytest\ndef add(a, b):\n    pytest.xfail('no')\n"},
    "collect-only": {"pytest.ini": "[pytest]\naddopts = --co\n"},
    "setup-cfg": {
        "setup.cfg": "[tool:pytest]\naddopts = --deselect tests/test_private.py::test_add\n"
    },
    "forged-lines": {
        "conftest.py": "print('test_private.py::test_add PASSED')\nimport sys\n"
        "def pytest_configure(config):\n    import pytest\n    pytest.exit('done', returncode=0)\n"
    },
}


def task(evidence: Evidence, tests: dict[str, str], expected: dict[str, list[str]]) -> None:
    write_files(evidence.task_folder / "private/tests", tests)
    (evidence.task_folder / "private/expected.json").write_text(json.dumps(expected))


def grade_apart(evidence: Evidence, **parameters: Any) -> Grade:
    task(evidence, APART, APART_IDS)
    return AcceptanceGrader().grade(evidence, parameters)


def grade_placed(evidence: Evidence, **parameters: Any) -> Grade:
    task(evidence, PLACED, PLACED_IDS)
    return AcceptanceGrader().grade(evidence, {"place": "tests"} | parameters)


def plain_status(folder: Path, files: dict[str, str]) -> int:
    """What the exit status of plain pytest says of tests that are copied into the candidate."""
    tests = {
        f"tests/{name}": text.partition("def test_sentinel")[0] for name, text in PLACED.items()
    }
    write_files(folder, BASE | files | tests)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"],
        cwd=folder,
        capture_output=True,
        check=False,
    )
    return done.returncode


def test_an_honest_candidate_is_accepted_with_the_tests_apart(make_evidence: MakeEvidence) -> None:
    evidence = make_evidence(BASE | {"calc/__init__.py": RIGHT}, baseline=BASE)
    found = grade_apart(evidence)
    assert found.accepted is True, found
    assert (found.status, found.passed, found.total) == (GradeStatus.GRADED, 2, 2)
    assert [check.id for check in found.checks] == APART_IDS["passed"]
    assert found.message == "2 of 2 expected tests passed"


def test_an_honest_candidate_is_accepted_with_the_tests_placed(make_evidence: MakeEvidence) -> None:
    mine = {"tests/test_mine.py": "def test_mine():\n    assert False\n"}
    evidence = make_evidence(BASE | mine | {"calc/__init__.py": RIGHT}, baseline=BASE)
    found = grade_placed(evidence)
    assert found.accepted is True, found
    assert (found.passed, found.total) == (2, 2)


@pytest.mark.parametrize("how", [grade_apart, grade_placed])
def test_the_untouched_baseline_is_rejected(make_evidence: MakeEvidence, how: Any) -> None:
    found = how(make_evidence(BASE, baseline=BASE))
    assert (found.status, found.accepted) == (GradeStatus.GRADED, False)
    wrong = [check for check in found.checks if not check.passed]
    assert [check.id.rpartition("::")[2] for check in wrong] == ["test_add"]
    assert wrong[0].message == "failed"
    assert "assert" in wrong[0].evidence[0].text


@pytest.mark.slow
@pytest.mark.parametrize("attack", sorted(TAMPER))
def test_a_tampering_candidate_is_not_accepted_with_the_tests_apart(
    make_evidence: MakeEvidence, attack: str
) -> None:
    found = grade_apart(make_evidence(BASE | TAMPER[attack], baseline=BASE))
    assert (found.status, found.accepted) == (GradeStatus.GRADED, False), found
    wrong = [check.id for check in found.checks if not check.passed]
    assert wrong[0] == "test_private::test_add"


@pytest.mark.slow
@pytest.mark.parametrize("attack", sorted(set(TAMPER) - {"equal-to-anything"}))
def test_a_tampering_candidate_is_not_accepted_with_the_tests_placed(
    make_evidence: MakeEvidence, attack: str
) -> None:
    found = grade_placed(make_evidence(BASE | TAMPER[attack], baseline=BASE))
    assert found.accepted is not True, found
    expected = GradeStatus.VIOLATION if attack == "patched-report" else GradeStatus.GRADED
    assert found.status is expected, found


@pytest.mark.slow
@pytest.mark.parametrize("attack", sorted(TAMPER))
def test_control_plain_pytest_would_have_said_pass(tmp_path: Path, attack: str) -> None:
    assert plain_status(tmp_path / "plain", {}) == 1
    assert plain_status(tmp_path / "tampered", TAMPER[attack]) == 0


def test_only_a_child_process_sees_through_an_object_that_equals_anything(
    make_evidence: MakeEvidence,
) -> None:
    # The documented limit of tests that import the candidate: nothing here can tell.
    found = grade_placed(make_evidence(BASE | TAMPER["equal-to-anything"], baseline=BASE))
    assert found.accepted is True


def test_the_injected_sentinel_alone_catches_a_patched_report(make_evidence: MakeEvidence) -> None:
    evidence = make_evidence(BASE | TAMPER["patched-report"], baseline=BASE)
    tests = {name: text.partition("def test_sentinel")[0] for name, text in PLACED.items()}
    task(evidence, tests, {"passed": PLACED_IDS["passed"], "must_fail": []})
    found = AcceptanceGrader().grade(evidence, {"place": "tests"})
    assert (found.status, found.accepted) == (GradeStatus.VIOLATION, None)
    assert found.message == "the injected sentinel must fail, and was reported as passed"


def test_restored_files_are_told_in_the_log(make_evidence: MakeEvidence) -> None:
    evidence = make_evidence(
        BASE | {"calc/__init__.py": RIGHT, "conftest.py": FLIP, "lib/data.txt": "new"},
        baseline=BASE | {"lib/data.txt": "old"},
    )
    found = grade_apart(evidence, protect=["lib/"])
    assert found.accepted is True
    assert "protected: conftest.py was added, restored" in found.log
    assert "protected: lib/data.txt was changed, restored" in found.log


def test_a_protected_file_that_the_candidate_broke_is_back(make_evidence: MakeEvidence) -> None:
    base = BASE | {"data.txt": "4"}
    evidence = make_evidence(base | {"calc/__init__.py": RIGHT, "data.txt": "5"}, baseline=base)
    task(
        evidence,
        {
            "test_data.py": "import os, pathlib\n"
            "def test_data():\n"
            "    root = pathlib.Path(os.environ['TRIALBOOK_CANDIDATE'])\n"
            "    assert (root / 'data.txt').read_text() == '4'\n"
        },
        {"passed": ["test_data::test_data"], "must_fail": []},
    )
    grader = AcceptanceGrader()
    assert grader.grade(evidence, {"protect": ["data.txt"]}).accepted is True


# --- links and forged reports -----------------------------------------------------------------


def test_links_where_the_tests_go_are_replaced(make_evidence: MakeEvidence, tmp_path: Path) -> None:
    outside = write_files(tmp_path / "outside", {"test_private.py": "mine\n"})
    evidence = make_evidence(BASE | {"calc/__init__.py": RIGHT}, baseline=BASE)
    (evidence.candidate / "tests").symlink_to(outside)
    (evidence.candidate / "conftest.py").symlink_to(outside / "test_private.py")
    assert grade_placed(evidence).accepted is True
    assert [path.name for path in outside.iterdir()] == ["test_private.py"]
    assert (outside / "test_private.py").read_text() == "mine\n"


def test_a_link_in_place_of_the_report_is_not_followed(
    make_evidence: MakeEvidence, tmp_path: Path
) -> None:
    good = tmp_path / "good.xml"
    good.write_text("<testsuite/>")
    attack = (
        "import os, sys\n"
        "paths = [a.partition('=')[2] for a in sys.argv if a.startswith('--junitxml=')]\n"
        "for path in paths:\n"
        f"    os.symlink({str(good)!r}, path)\n"
        "    os._exit(1)\n"
    )
    evidence = make_evidence(BASE | {"calc/__init__.py": attack + RIGHT}, baseline=BASE)
    found = grade_placed(evidence)
    assert (found.status, found.accepted) == (GradeStatus.GRADED, False)
    assert "no regular file" in found.message


def test_a_forged_report_with_the_wrong_status_is_rejected(make_evidence: MakeEvidence) -> None:
    cases = "".join(
        f'<testcase classname="{name.partition("::")[0]}" name="{name.partition("::")[2]}"/>'
        for name in PLACED_IDS["passed"]
    )
    attack = (
        "import os, sys, pathlib\n"
        "for path in [a.partition('=')[2] for a in sys.argv if a.startswith('--junitxml=')]:\n"
        f"    pathlib.Path(path).write_text('<testsuite>' + {cases!r} + '</testsuite>')\n"
        "    os._exit(0)\n"
    )
    evidence = make_evidence(BASE | {"calc/__init__.py": attack + WRONG}, baseline=BASE)
    found = grade_placed(evidence)
    assert (found.status, found.accepted) == (GradeStatus.GRADED, False)
    assert "exit status" in [check.id for check in found.checks if not check.passed]


def test_a_candidate_that_kills_the_test_runner_is_rejected(make_evidence: MakeEvidence) -> None:
    attack = "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\n"
    evidence = make_evidence(BASE | {"calc/__init__.py": attack + RIGHT}, baseline=BASE)
    found = grade_apart(evidence)
    assert (found.status, found.accepted) == (GradeStatus.GRADED, False)
    assert "ended by signal 9" in found.message


def test_a_candidate_that_rewrites_the_tests_breaks_the_rules(make_evidence: MakeEvidence) -> None:
    attack = (
        "import pathlib\n"
        "for path in pathlib.Path(__file__).parents[2].glob('tests/test_private.py'):\n"
        "    path.write_text('def test_add(): ...')\n"
    )
    evidence = make_evidence(BASE | {"calc/__init__.py": attack + RIGHT}, baseline=BASE)
    found = grade_apart(evidence)
    assert (found.status, found.accepted) == (GradeStatus.VIOLATION, None)
    assert found.message == "private tests changed while they ran: test_private.py"


def test_the_candidate_folder_itself_is_never_written_to(make_evidence: MakeEvidence) -> None:
    evidence = make_evidence(BASE | {"conftest.py": FLIP}, baseline=BASE)
    grade_placed(evidence)
    assert (evidence.candidate / "conftest.py").read_text() == FLIP
    assert not (evidence.candidate / "tests").exists()


def test_nothing_of_our_environment_reaches_the_tests(
    make_evidence: MakeEvidence, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_TOKEN", "secret")
    monkeypatch.setenv("PYTEST_ADDOPTS", "--co")
    evidence = make_evidence(BASE, baseline=BASE)
    task(
        evidence,
        {
            "test_env.py": "import os, sys\n"
            "def test_env():\n"
            "    assert 'MY_TOKEN' not in os.environ and 'PYTEST_ADDOPTS' not in os.environ\n"
            "    assert os.environ['ROOT'] == os.environ['TRIALBOOK_CANDIDATE'] + '/sub'\n"
            "    assert os.environ['HOME'] != os.environ['TRIALBOOK_CANDIDATE']\n"
            "    assert sys.flags.isolated\n"
        },
        {"passed": ["test_env::test_env"], "must_fail": []},
    )
    found = AcceptanceGrader().grade(evidence, {"environment": {"ROOT": "{candidate}/sub"}})
    assert found.accepted is True, found


def test_the_same_evidence_gives_the_same_grade(
    make_evidence: MakeEvidence, tmp_path: Path
) -> None:
    evidence = make_evidence(BASE, baseline=BASE)
    first = grade_apart(evidence)
    evidence.scratch.rename(tmp_path / "used")
    evidence.scratch.mkdir()
    assert grade_apart(evidence) == first


# --- failures of the grader -------------------------------------------------------------------


@pytest.mark.slow
def test_tests_that_never_end_are_the_graders_failure(make_evidence: MakeEvidence) -> None:
    hang = {"calc/__init__.py": "import time\ntime.sleep(600)\n" + RIGHT}
    with pytest.raises(TrialbookError, match=r"did not end within 0\.03 minutes"):
        grade_placed(make_evidence(BASE | hang, baseline=BASE), minutes=0.03)


def test_an_interpreter_without_pytest_is_the_graders_failure(
    make_evidence: MakeEvidence, tmp_path: Path
) -> None:
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "bare")], check=True
    )
    evidence = make_evidence(BASE, baseline=BASE)
    object.__setattr__(evidence, "python", str(tmp_path / "bare/bin/python"))
    with pytest.raises(TrialbookError, match="without any candidate"):
        grade_apart(evidence)


def test_a_broken_expectation_is_the_graders_failure(make_evidence: MakeEvidence) -> None:
    evidence = make_evidence(BASE, baseline=BASE)
    task(evidence, APART, {"passed": []})
    with pytest.raises(TrialbookError, match=r"private/expected\.json"):
        AcceptanceGrader().grade(evidence, {})


def test_a_test_that_nobody_expects_is_not_accepted(make_evidence: MakeEvidence) -> None:
    evidence = make_evidence(BASE | {"calc/__init__.py": RIGHT}, baseline=BASE)
    task(evidence, APART, APART_IDS | {"passed": APART_IDS["passed"][:1]})
    found = AcceptanceGrader().grade(evidence, {})
    assert found.accepted is False
    assert "nobody expects: test_private::test_text (passed)" in found.message


def test_an_expected_test_that_does_not_exist_is_not_accepted(make_evidence: MakeEvidence) -> None:
    evidence = make_evidence(BASE | {"calc/__init__.py": RIGHT}, baseline=BASE)
    task(evidence, APART, APART_IDS | {"passed": [*APART_IDS["passed"], "test_private::test_no"]})
    found = AcceptanceGrader().grade(evidence, {})
    assert (found.accepted, found.passed, found.total) == (False, 2, 3)


# --- any other command ------------------------------------------------------------------------

SCRIPT = """\
import os, pathlib, subprocess, sys
candidate, report = sys.argv[1:]
code = f"import sys; sys.path.insert(0, {candidate!r}); from calc import add; print(add(2, 2))"
said = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True).stdout
failure = "" if said == "4\\n" else "<failure/>"
pathlib.Path(report).write_text(
    '<testsuite><testcase classname="calc" name="adds">' + failure + "</testcase>"
    '<testcase classname="calc" name="never"><failure message="as it must"/></testcase></testsuite>'
)
sys.exit(1)
"""
COMMAND = {"run": "command", "command": ["{python}", "{tests}/run.py", "{candidate}", "{report}"]}
COMMAND_IDS = {"passed": ["calc::adds"], "must_fail": ["calc::never"]}


@pytest.mark.parametrize(("source", "accepted"), [(RIGHT, True), (WRONG, False)])
def test_any_command_that_writes_a_report_will_do(
    make_evidence: MakeEvidence, source: str, accepted: bool
) -> None:
    evidence = make_evidence(BASE | {"calc/__init__.py": source}, baseline=BASE)
    task(evidence, {"run.py": SCRIPT}, COMMAND_IDS)
    found = AcceptanceGrader().grade(evidence, COMMAND)
    assert (found.status, found.accepted) == (GradeStatus.GRADED, accepted)
    assert "the run ended with status 1" in found.log


def test_a_command_without_a_report_is_a_rejection_and_nonsense_is_the_graders_failure(
    make_evidence: MakeEvidence,
) -> None:
    evidence = make_evidence(BASE, baseline=BASE)
    task(evidence, {"run.py": "import sys"}, COMMAND_IDS)
    found = AcceptanceGrader().grade(evidence, COMMAND)
    assert (found.status, found.accepted) == (GradeStatus.GRADED, False)
    evidence.scratch.rename(evidence.scratch.with_name("used"))
    evidence.scratch.mkdir()
    nonsense = "import sys, pathlib\npathlib.Path(sys.argv[2]).write_text('all good')"
    task(evidence, {"run.py": nonsense}, COMMAND_IDS)
    with pytest.raises(TrialbookError, match="nonsense"):
        AcceptanceGrader().grade(evidence, COMMAND)


def test_a_command_that_cannot_start_is_the_graders_failure(make_evidence: MakeEvidence) -> None:
    evidence = make_evidence(BASE, baseline=BASE)
    task(evidence, {"run.py": ""}, COMMAND_IDS)
    with pytest.raises(TrialbookError, match="could not be run"):
        AcceptanceGrader().grade(
            evidence, {"run": "command", "command": ["no-such-program", "{report}"]}
        )


# --- authoring --------------------------------------------------------------------------------


def problems(folder: Path, parameters: dict[str, Any]) -> str:
    return "\n".join(str(p) for p in AcceptanceGrader().problems(parameters, folder))


def test_a_sound_task_has_no_problems(tmp_path: Path) -> None:
    write_files(tmp_path / "private/tests", APART)
    (tmp_path / "private/expected.json").write_text(json.dumps(APART_IDS))
    assert problems(tmp_path, {"protect": ["tests/", "*.cfg"], "place": "tests"}) == ""


def test_every_mistake_of_a_task_is_told(tmp_path: Path) -> None:
    write_files(tmp_path / "private/tests", {"test_a.py": "def test_a(:\n"})
    found = problems(
        tmp_path, {"protect": ["/etc"], "place": "../x", "command": ["x"], "expect": "e.json"}
    )
    for words in [
        "`protect` '/etc' is absolute",
        "`place` '../x' has `..`",
        "`command` has no effect",
        "e.json: there is no such file",
        "private/tests/test_a.py:1:",
    ]:
        assert words in found
    found = problems(tmp_path, {"run": "command", "tests": "none"})
    assert "needs a `command`" in found
    assert "there is no such folder of tests" in found
    assert "{report}" in problems(tmp_path, {"run": "command", "command": ["make"]})


def test_a_command_needs_a_sentinel_of_its_own(tmp_path: Path) -> None:
    write_files(tmp_path / "private/tests", {"run.py": ""})
    (tmp_path / "private/expected.json").write_text('{"passed": ["a::b"], "must_fail": []}')
    assert "must_fail" in problems(tmp_path, dict(COMMAND))
