"""The acceptance policy of a suite: every name in it has to be somebody who can answer."""

from __future__ import annotations

import re
from collections.abc import Mapping

from trialbook.errors import UserError
from trialbook.formats.document import Document, Pointer
from trialbook.formats.nearest import nearest
from trialbook.model.acceptance import PolicyError, parse_policy
from trialbook.model.deciding import REVIEW, is_judge
from trialbook.model.judge import DEFAULT_RUBRIC, JUDGE_PREFIX
from trialbook.storage.judges import JUDGES_FOLDER, judge_names
from trialbook.storage.rubrics import load_rubric
from trialbook.storage.suite_reading import Reading, mapping_of, value_of

_POINTER: Pointer = ("accept",)


def check_policy(
    reading: Reading, document: Document, graders: Mapping[str, frozenset[str]]
) -> None:
    """Check ``accept``; ``graders`` has the graders of each task, by the task's name."""
    text = value_of(document, _POINTER, str)
    if not text:
        return
    try:
        policy = parse_policy(text)
    except PolicyError as error:
        hint = "join graders with `and`, `or`, `not` and parentheses: acceptance and checks"
        reading.at(document, _POINTER, error.message, hint, offset=error.position)
        return
    checked = _Check(reading, document, text)
    for name in sorted(policy.names):
        grader, _, verdict = name.partition(":")
        if grader == REVIEW:
            checked.people()
            checked.verdict(name, verdict)
        elif is_judge(grader):
            checked.judge(grader)
            checked.verdict(name, verdict)
        else:
            checked.grader(grader, graders)
            if verdict:
                message = f"`{grader}` gives no verdict, it accepts or does not"
                checked.add(name, message, f"write {grader}")


class _Check:
    """Reports what is wrong with one policy, each thing where it stands."""

    def __init__(self, reading: Reading, document: Document, text: str) -> None:
        self._reading = reading
        self._document = document
        self._text = text

    def add(self, name: str, message: str, hint: str) -> None:
        found = re.search(rf"(?<![a-z0-9_:-]){re.escape(name)}(?![a-z0-9_-])", self._text)
        offset = found.start() if found else 0
        self._reading.at(self._document, _POINTER, message, hint, offset=offset)

    def grader(self, grader: str, graders: Mapping[str, frozenset[str]]) -> None:
        without = [task for task, used in graders.items() if grader not in used]
        if not without:
            return
        used = frozenset().union(*graders.values())
        names = ", ".join(without)
        whose = "no task has a" if len(without) == len(graders) else f"task {names} has no"
        add = f"add `- {grader}: ...` to the graders of the task"
        hint = nearest(grader, used - {grader}) or add
        self.add(grader, f"{whose} grader `{grader}`", hint)

    def people(self) -> None:
        if "judgement" not in mapping_of(self._document):
            message = "`review` is the verdict of people, and nothing says who reviews"
            self.add(REVIEW, message, f"add `judgement: {{rubric: {DEFAULT_RUBRIC}}}`")

    def judge(self, grader: str) -> None:
        name = grader.removeprefix(JUDGE_PREFIX)
        known = judge_names(self._reading.root)
        if name not in known:
            nearer = nearest(name, known)
            hint = f"add {JUDGES_FOLDER}/{name}.yaml"
            self.add(grader, f"there is no judge `{name}`", nearer or hint)

    def verdict(self, name: str, verdict: str) -> None:
        """The verdict that is asked for has to be one of the suite's rubric."""
        reference = value_of(self._document, ("judgement", "rubric"), str) or DEFAULT_RUBRIC
        try:
            rubric = load_rubric(self._reading.root, reference)
        except UserError as error:
            if "judgement" not in mapping_of(self._document):
                why = error.message or f"{reference} has mistakes"
                hint = error.hint or "see `trialbook rubric check`"
                self.add(name, f"its verdicts are those of {reference}: {why}", hint)
            return  # what a suite names itself is checked where it names it
        verdicts = [one.lower() for one in rubric.verdicts]
        if not verdicts:
            message = f"{reference} asks for no verdict, so nobody can give one"
            self.add(name, message, "judge by a rubric that has `verdicts`")
        elif verdict not in verdicts:
            grader = name.partition(":")[0]
            said = f"`{verdict}` is no verdict of {reference}" if verdict else "no verdict is named"
            self.add(
                name, said, f"write {grader}:{verdicts[0]} (its verdicts: {', '.join(verdicts)})"
            )
