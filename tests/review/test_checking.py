from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.review.desk import RUN, a_desk, filled, reviewed_ledger

from trialbook.errors import UserError
from trialbook.workflow.reviewing import Desk

FORM_LINES = {"schema": 8, "run": 9, "packet": 10, "reviewer": 11, "rubric": 12, "solves": 24}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A ledger, and a form of it with all answers right."""
    folder = tmp_path_factory.mktemp("world")
    (folder / ".gitconfig").write_text("[user]\n\tname = T\n\temail = t@example.invalid\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(folder))
        root = reviewed_ledger(folder / "ledger", third="zoe")
    opened = a_desk(root).next("ann")
    assert opened is not None
    return root, filled(opened.draft.form.read_text())


def said(desk: Desk, text: str) -> list[str]:
    return [str(one) for one in desk.check_text(text, "r.yaml", draft=True).problems]


def test_a_filled_form_has_no_mistakes(world: tuple[Path, str]) -> None:
    root, text = world
    assert said(a_desk(root), text) == []


BROKEN = {
    "an answer is missing": ('answer: "yes"', "answer:", "has no value"),
    "an answer that is none": ('answer: "yes"', "answer: maybe", "must be yes, no or not_appl"),
    "no evidence": ('evidence: ["src/app.py:3"]', "evidence: []", "`yes` to `solves` has no evid"),
    "no list": ('evidence: ["src/app.py:3"]', "evidence: src/app.py:3", "must be a list"),
    "another file": (
        'evidence: ["src/app.py:3"]',
        "evidence: [src/ap.py:3]",
        "has no file `src/ap.py`",
    ),
    "a preference": ('note: ""', 'note: "I would prefer a class"', "is a preference"),
    "no reason": (
        'answer: "yes"\n    evidence: ["src/app.py:3"]',
        "answer: not_applicable\n    evidence: []",
        "not to apply, without a reason",
    ),
    "a question that there is not": (
        "question: solves",
        "question: solve",
        "has no question `solve`",
    ),
    "a question twice": ("question: narrow", "question: solves", "is answered twice"),
    "a question left out": (
        '  - question: narrow\n    answer: "yes"\n    evidence: ["src/app.py:3"]\n    note: ""\n',
        "",
        "`narrow` has no answer",
    ),
    "no verdict": ("verdict: MERGE", "verdict:", "there is no verdict"),
    "a verdict that is none": ("verdict: MERGE", "verdict: MERGED", "`MERGED` is no verdict"),
    "FIX without anything to fix": ("verdict: MERGE", "verdict: FIX", "nothing under `findings`"),
    "REJECT without a reason": ("verdict: MERGE", "verdict: REJECT", "neither a `no` nor a find"),
    "MERGE with findings": ("findings: []", "findings: [{text: wrong}]", "MERGE, and findings"),
    "MERGE with a grave no": ('answer: "yes"', 'answer: "no"', "`no` to what must be: solves"),
    "a finding without words": (
        "findings: []",
        "findings: [{where: src/app.py}]",
        "the key `text` is missing",
    ),
    "a key that is misspelt": ("minutes:", "minuts:", "unknown key `minuts`"),
    "time that is none": ("minutes:", "minutes: soon", "must be a number"),
    "negative time": ("minutes:", "minutes: -1", "must be at least 0"),
    "a tab": ("    note:", "\tnote:", "indent with spaces"),
    "an open quote": ('note: ""', 'note: "', "is not YAML"),
    "another packet": ('packet: "', 'packet: "0', "is no name of a packet"),
    "another person": ('reviewer: "ann"', 'reviewer: "bob"', "is no packet of bob"),
    "nobody's name": ('reviewer: "ann"', 'reviewer: "Ann B"', "is no name of a reviewer"),
    "the third reviewer": ('reviewer: "ann"', 'reviewer: "zoe"', "who reviews nothing alone"),
    "another rubric": ("rubric: small@1", "rubric: small@2", "the packet's is `small@1`"),
    "another run": (f"run: {RUN.path}", "run: refunds/x", "there is no run 'refunds/x'"),
    "a guess at nobody": (
        "minutes:",
        "guess: {configuration: zebra}\nminutes:",
        "no configuration `zebra`",
    ),
    "too sure": (
        "minutes:",
        "guess: {configuration: unknown, sure: 120}\nminutes:",
        "must be at most 100",
    ),
    "the same key twice": ("findings: []", "findings: []\nfindings: []", "is here twice"),
    "a list for the whole": ("schema:", "- schema:", "is not YAML"),
}


@pytest.mark.parametrize("name", list(BROKEN))
def test_a_review_that_is_broken_by_hand_is_told_by_line(
    world: tuple[Path, str], name: str
) -> None:
    root, text = world
    old, new, expected = BROKEN[name]
    assert old in text, name
    broken = text.replace(old, new, 1)
    problems = said(a_desk(root), broken)
    assert any(expected in one for one in problems), problems
    for one in problems:
        place = one.split(": ")[0].split(":")
        assert place[0] == "r.yaml", one
        assert int(place[1]) >= 1, one
    changed = next(
        number
        for number, (before, after) in enumerate(
            zip([*text.splitlines(), ""], [*broken.splitlines(), ""], strict=False), start=1
        )
        if before != after
    )
    lines = [int(one.split(":")[1]) for one in problems if expected in one]
    whole = name in {"a question left out", "a list for the whole", "an open quote", "a tab"}
    judged = name.startswith("MERGE with")
    if not (whole or judged):
        assert any(abs(line - changed) <= 2 for line in lines), (lines, changed, problems)


@pytest.mark.parametrize(
    "text",
    ["", "# nothing\n", "[]\n", "just words\n", "a: &a [*a]\n", "\x00", "run: [1]\n", "run:\n"],
)
def test_what_is_no_review_at_all_is_told_too(world: tuple[Path, str], text: str) -> None:
    problems = said(a_desk(world[0]), text)
    assert problems
    assert all(one.startswith("r.yaml") for one in problems)


def test_a_file_that_is_not_there_or_no_text_is_told(
    world: tuple[Path, str], tmp_path: Path
) -> None:
    desk = a_desk(world[0])
    with pytest.raises(UserError, match="no such file"):
        desk.check(tmp_path / "x.yaml", "x.yaml")
    (tmp_path / "x.yaml").write_bytes(b"run: \xff\n")
    with pytest.raises(UserError, match=r"x.yaml:1:6: not UTF-8"):
        desk.check(tmp_path / "x.yaml", "x.yaml")


@pytest.mark.slow
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_no_damage_to_a_form_is_taken_for_a_bug(
    world: tuple[Path, str], data: st.DataObject
) -> None:
    root, text = world
    desk = a_desk(root)
    lines = text.splitlines(keepends=True)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(lines) - 1))
        kind = data.draw(st.sampled_from(["drop", "twice", "cut", "join", "odd"]))
        if kind == "drop":
            del lines[at]
        elif kind == "twice":
            lines.insert(at, lines[at])
        elif kind == "cut":
            lines[at] = lines[at][: len(lines[at]) // 2] + "\n"
        elif kind == "join":
            lines[at] = lines[at].rstrip("\n")
        else:
            lines[at] = data.draw(st.text(max_size=8)) + lines[at]
        if not lines:
            break
    desk.check_text("".join(lines), "r.yaml", draft=True)
