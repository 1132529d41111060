from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.storage.conftest import Git, make_plan, make_trial

from trialbook.errors import TrialbookError
from trialbook.formats.records import to_json
from trialbook.model.outcome import Outcome
from trialbook.model.trial import Isolation, Trial, Usage
from trialbook.storage.answers import Answers
from trialbook.storage.ledger import Ledger
from trialbook.storage.reader import Reader, RunRef
from trialbook.storage.rows import rows
from trialbook.system import System

RUN = RunRef("demo", "first")
TREE = "1" * 40


def never() -> list[int]:
    raise AssertionError("was known already")


def files_of(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


class TestAnswers:
    def test_an_answer_is_worked_out_once(self, tmp_path: Path) -> None:
        answers = Answers(tmp_path)
        assert answers.answer(("q", "a/b"), TREE, list[int], lambda: [1, 2]) == [1, 2]
        assert Answers(tmp_path).answer(("q", "a/b"), TREE, list[int], never) == [1, 2]

    def test_another_tree_another_run_and_another_question_have_their_own(
        self, tmp_path: Path
    ) -> None:
        answers = Answers(tmp_path)
        answers.answer(("q", "a/b"), TREE, list[int], lambda: [1])
        assert answers.answer(("q", "a/c"), TREE, list[int], lambda: [2]) == [2]
        assert answers.answer(("p", "a/b"), TREE, list[int], lambda: [3]) == [3]
        assert answers.answer(("q", "a/b"), "2" * 40, list[int], lambda: [4]) == [4]

    def test_a_newer_answer_replaces_the_older_one(self, tmp_path: Path) -> None:
        answers = Answers(tmp_path)
        for number in range(5):
            answers.answer(("q", "a/b"), f"{number:040x}", list[int], lambda: [1])
        assert len(files_of(tmp_path)) == 1

    @pytest.mark.parametrize(
        "damage",
        [
            lambda data: b"",
            lambda data: data[:30],
            lambda data: data[:-1],
            lambda data: data[:-1] + bytes([data[-1] ^ 1]),
            lambda data: data[:25] + bytes([data[25] ^ 1]) + data[26:],
            lambda data: data + b"x",
        ],
    )
    def test_a_damaged_file_is_worked_out_again(
        self, tmp_path: Path, damage: Callable[[bytes], bytes]
    ) -> None:
        answers = Answers(tmp_path)
        answers.answer(("q", "a/b"), TREE, list[int], lambda: [1])
        (file,) = files_of(tmp_path)
        file.write_bytes(damage(file.read_bytes()))
        assert answers.answer(("q", "a/b"), TREE, list[int], lambda: [2]) == [2]
        assert answers.answer(("q", "a/b"), TREE, list[int], never) == [2]

    def test_another_kind_of_answer_is_worked_out_again(self, tmp_path: Path) -> None:
        answers = Answers(tmp_path)
        answers.answer(("q", "a/b"), TREE, list[str], lambda: ["x"])
        assert answers.answer(("q", "a/b"), TREE, list[int], lambda: [2]) == [2]

    def test_a_cache_that_cannot_be_written_changes_nothing(self, tmp_path: Path) -> None:
        (tmp_path / "reader").write_text("in the way")
        assert Answers(tmp_path).answer(("q", "a/b"), TREE, list[int], lambda: [1]) == [1]

    def test_an_error_is_the_callers_and_nothing_is_kept(self, tmp_path: Path) -> None:
        def fail() -> list[int]:
            raise TrialbookError("broken record")

        with pytest.raises(TrialbookError, match="broken record"):
            Answers(tmp_path).answer(("q", "a/b"), TREE, list[int], fail)
        assert files_of(tmp_path) == []


TRIALS = [
    make_trial(),
    make_trial("beta", "candidate", 2, outcome=Outcome.REJECTED, usage=Usage(cost_usd="1.5")),
    make_trial(
        "beta",
        isolation=Isolation(
            sandbox="none",
            isolated=False,
            network_declared="open",
            network_enforced=False,
            limits_enforced=(),
            limits_not_enforced=(),
        ),
    ),
]


def add(git: Git, *trials: Trial) -> None:
    ledger = Ledger.open(git.folder, System())
    files = {"runs/demo/first/plan.json": to_json(make_plan())}
    files |= {f"runs/demo/first/{one.path}/trial.json": to_json(one) for one in trials}
    ledger.commit(files, "records\n")
    ledger.close()


def test_rows_say_the_same_with_a_cache_and_without(git: Git, tmp_path: Path) -> None:
    add(git, *TRIALS)
    expected = rows(Reader.open(git.folder), RUN)
    assert [(row.task, row.outcome, row.cost_usd, row.isolated) for row in expected] == [
        ("alpha", "accepted", None, None),
        ("beta", "rejected", "1.5", None),
        ("beta", "accepted", None, False),
    ]
    for _ in range(2):
        assert rows(Reader.open(git.folder, cache=tmp_path / "cache"), RUN) == expected
        trials = Reader.open(git.folder, cache=tmp_path / "cache").trials(RUN)
        assert trials == Reader.open(git.folder).trials(RUN)


def test_a_run_is_not_read_again_until_something_is_added(git: Git, tmp_path: Path) -> None:
    add(git, *TRIALS)
    reader = Reader.open(git.folder, cache=tmp_path)
    before = rows(reader, RUN)
    again = Reader.open(git.folder, cache=tmp_path)
    assert rows(again, RUN) == before
    assert again._objects.count < 8
    more = replace(TRIALS[0], repetition=2)
    add(git, *TRIALS, more)
    assert len(rows(Reader.open(git.folder, cache=tmp_path), RUN)) == len(before) + 1
