"""The gate in words: a line for the terminal, Markdown for a pull request, JUnit for a CI job."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any
from xml.etree import ElementTree as ET

from trialbook.formats.visible import visible_line
from trialbook.reporting.comparison_json import number
from trialbook.reporting.comparison_said import points, probability
from trialbook.reporting.gate import Gated
from trialbook.reporting.markdown import code, prose, table
from trialbook.reporting.wording import number_of, rate
from trialbook.stats.gate import Answer, CheckRow, TaskRow

NOT_VALID = "not valid"
# Characters that no XML document may hold, besides those that are made visible anyway.
_NO_XML = {0xFFFE: "\\ufffe", 0xFFFF: "\\uffff"}
TASKS_HEAD = ("task", "baseline", "candidate", "points", "p", "p (Holm)")
CHECKS_HEAD = ("task", "check", "baseline", "candidate", "p", "p (Holm)")


def answer(gated: Gated) -> str:
    """The answer in one line: ``FAIL: the score fell, most in: user-service``."""
    if gated.decision is None:
        return f"{NOT_VALID.upper()}: {'; '.join(gated.because)}"
    word = (gated.answer or Answer.INCONCLUSIVE).value.upper()
    return f"{word}: {gated.decision.reason}"


def advice(gated: Gated) -> str:
    """What would decide, if it is not decided; else empty."""
    if not gated.more:
        return ""
    return (
        f"{number_of(gated.more, 'more trial')} of each configuration and task decide: run the "
        "suite again and name both runs"
    )


def evidence(gated: Gated) -> Iterator[str]:
    """What the answer rests on, a sentence each."""
    if gated.decision is None:
        return
    yield (
        f"Mean score, {gated.candidate.name} minus {gated.baseline.name}, over "
        f"{number_of(len(gated.decision.tasks), 'task')} with "
        f"{number_of(gated.repetitions, 'trial')} each (target: within suite): "
        f"{points(gated.decision.difference)} points, one-sided exact p = "
        f"{probability(gated.decision.p)}."
    )
    yield "The gate only looks for a fall; whether something became better, a comparison says."


def task_rows(gated: Gated) -> list[list[str]]:
    """Every task whose score changed: mean scores, difference, p."""
    rows = gated.decision.tasks if gated.decision else ()
    return [_task_row(row) for row in rows if row.scores.difference]


def check_rows(gated: Gated) -> list[list[str]]:
    """Every check that passed less often than in the baseline, hard ones marked."""
    rows = gated.decision.checks if gated.decision else ()
    return [
        _check_row(row)
        for row in rows
        if _share(row.counts.candidate) < _share(row.counts.baseline)
    ]


def _task_row(row: TaskRow) -> list[str]:
    scores = row.scores
    return [
        scores.task,
        _mean(scores.baseline),
        _mean(scores.candidate),
        points(scores.difference),
        probability(row.p),
        probability(row.adjusted),
    ]


def _check_row(row: CheckRow) -> list[str]:
    counts = row.counts
    return [
        counts.task,
        counts.check + (" (must)" if counts.must else ""),
        f"{counts.baseline[0]}/{counts.baseline[1]}",
        f"{counts.candidate[0]}/{counts.candidate[1]}",
        probability(row.p),
        probability(row.adjusted),
    ]


def _mean(scores: tuple[Fraction, ...]) -> str:
    return f"{float(sum(scores, Fraction(0)) / len(scores)):.3f}"


def _share(passed: tuple[int, int]) -> Fraction:
    return Fraction(passed[0], passed[1]) if passed[1] else Fraction(0)


def markdown(gated: Gated, suite: str) -> str:
    """A comment for a pull request."""
    sections = [f"## {prose(f'{suite}: {answer(gated)}')}\n"]
    arms = (("baseline", gated.baseline), ("candidate", gated.candidate))
    sections.append(
        table(
            ["", "configuration", "accepted, all scheduled", "valid executions", "runs"],
            (
                [
                    word,
                    code(arm.name),
                    rate(arm.counts.all_scheduled),
                    rate(arm.counts.valid_execution),
                    ", ".join(code(run) for run in arm.runs),
                ]
                for word, arm in arms
            ),
            numbers=(2, 3),
        )
    )
    sections += [prose(line) + "\n" for line in evidence(gated)]
    if advice(gated):
        sections.append(prose(advice(gated)) + ".\n")
    for head, title, rows in (
        (TASKS_HEAD, "Tasks whose score changed", task_rows(gated)),
        (CHECKS_HEAD, "Checks that passed less often", check_rows(gated)),
    ):
        if rows:
            sections.append(f"### {title}\n")
            names = 2 if head is CHECKS_HEAD else 1
            cells = ([*map(code, row[:names]), *row[names:]] for row in rows)
            sections.append(table(list(head), cells, numbers=range(names, len(head))))
    return "\n".join(sections)


def junit(gated: Gated, suite: str) -> bytes:
    """A JUnit file: one test case for the gate, one for each task and each check.

    The gate's own fails when the answer is *fail*, is an error when it is not valid, and is skipped
    when it is inconclusive. A check's fails only where a hard check broke.
    """
    cases: list[ET.Element] = [_gate_case(gated, suite)]
    if gated.decision is not None:
        for task in gated.decision.tasks:
            case = _case(f"{suite}.tasks", task.scores.task)
            ET.SubElement(case, "system-out").text = f"{points(task.scores.difference)} points"
            cases.append(case)
        for check in gated.decision.checks:
            case = _case(f"{suite}.{check.counts.task}", check.counts.check)
            if check.counts.must and check.counts.broken:
                told = " to ".join(_check_row(check)[2:4])
                ET.SubElement(case, "failure", message=f"hard check broke: {told}")
            cases.append(case)
    root = ET.Element(
        "testsuite",
        name=_xml(suite),
        tests=str(len(cases)),
        failures=str(sum(case.find("failure") is not None for case in cases)),
        errors=str(sum(case.find("error") is not None for case in cases)),
        skipped=str(sum(case.find("skipped") is not None for case in cases)),
    )
    root.extend(cases)
    ET.indent(root)
    data: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return data + b"\n"


def _gate_case(gated: Gated, suite: str) -> ET.Element:
    case = _case(suite, "gate")
    kind = {None: "error", Answer.FAIL: "failure", Answer.INCONCLUSIVE: "skipped"}.get(gated.answer)
    if kind is not None:
        ET.SubElement(case, kind, message=_xml(answer(gated)))
    return case


def _xml(text: str) -> str:
    return visible_line(text).translate(_NO_XML)


def _case(place: str, name: str) -> ET.Element:
    return ET.Element("testcase", classname=_xml(place), name=_xml(name))


def gated_json(gated: Gated) -> dict[str, Any]:
    """Everything that the gate found."""
    decision = gated.decision
    return {
        "answer": NOT_VALID if gated.answer is None else gated.answer.value,
        "reason": answer(gated),
        "advice": advice(gated),
        "target": "within_suite",
        "baseline": {"configuration": gated.baseline.name, "runs": list(gated.baseline.runs)},
        "candidate": {"configuration": gated.candidate.name, "runs": list(gated.candidate.runs)},
        "repetitions": gated.repetitions,
        "stage": None if decision is None else decision.stage,
        "difference": None if decision is None else number(decision.difference),
        "p": None if decision is None else number(decision.p),
        "tasks": []
        if decision is None
        else [
            {
                "task": row.scores.task,
                "baseline": [number(score) for score in row.scores.baseline],
                "candidate": [number(score) for score in row.scores.candidate],
                "difference": number(row.scores.difference),
                "p": number(row.p),
                "p_holm": number(row.adjusted),
            }
            for row in decision.tasks
        ],
        "checks": []
        if decision is None
        else [
            {
                "task": row.counts.task,
                "check": row.counts.check,
                "must": row.counts.must,
                "broken": row.counts.must and row.counts.broken,
                "baseline": list(row.counts.baseline),
                "candidate": list(row.counts.candidate),
                "p": number(row.p),
                "p_holm": number(row.adjusted),
            }
            for row in decision.checks
        ],
    }
