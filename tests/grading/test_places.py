from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.conftest import trialbook, write_files
from tests.recorded import a_grade

from trialbook.grading.places import without_places

CHECK = """\
checks:
  - id: says-where
    type: command_succeeds
    run:
      - "{python}"
      - -c
      - |
        import os, sys
        print("here", os.getcwd() + "/answer.txt", "with", sys.executable)
        raise SystemExit(1)
"""


def test_other_words_stand_for_a_place_wherever_it_is_named() -> None:
    message = 'in "/some/where/x" and /some/where/y'
    grade = a_grade({"a": False}, message=message, log="/some/where/")
    told = without_places(grade, {"/some/where/": "", "/else": "other"})
    assert (told.message, told.log) == ('in "x" and y', "")
    assert without_places(grade, {"/else": "other"}) is grade


def test_a_record_does_not_say_where_on_the_host_it_was_graded(ledger: Path) -> None:
    write_files(ledger, {"suites/mini/tasks/first/checks.yaml": CHECK})
    trialbook(ledger, "eval", "mini", "-t", "first", "-r", "1", check=None)
    (path,) = (ledger / "runs").rglob("good/r1/grades/checks.json")
    text = path.read_text()
    (check,) = json.loads(text)["checks"]
    said = json.dumps(check)
    assert "/answer.txt with " in said
    assert str(Path(sys.executable).parents[1]) not in text
    assert "/tmp/" not in text
