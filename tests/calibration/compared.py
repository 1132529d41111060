"""A ledger in which a judge and people have looked at the same changes, made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tests.conftest import git, write_files
from tests.recorded import (
    a_bundle,
    a_configuration,
    a_grade,
    a_plan,
    a_task,
    a_trial,
    new_ledger,
    results_of,
)
from trialbook.formats.records import from_json, to_json
from trialbook.model.calibration import Calibration, Draw
from trialbook.model.digest import sha256
from trialbook.model.grade import Grade, GradeStatus
from trialbook.model.judgement import (
    JudgeFinding,
    JudgeIdentity,
    Judgement,
    JudgeVote,
    identity_digest,
)
from trialbook.model.outcome import Outcome
from trialbook.model.packets import Packet, Packets
from trialbook.model.plan import Plan, PlannedJudgement
from trialbook.model.regrade import Regrade, RegradedGrade, RegradedTrial, UsedGrader
from trialbook.model.severity import Severity
from trialbook.model.trial import TrialBundle
from trialbook.model.trust import TrustLevel
from trialbook.model.usage import Usage
from trialbook.reporting.report import render_report
from trialbook.reporting.results import results_csv
from trialbook.storage.ledger import Ledger
from trialbook.storage.reader import Reader
from trialbook.system import System
from trialbook.workflow.calibrating import Calibrated, CalibrationRequest, calibrate

RUBRIC = """\
---
rubric: merge
version: 1
title: Would you merge it?
verdicts: [MERGE, FIX, REJECT]
questions:
  - id: solves
    text: Does the change do what the brief asks for?
    no_when: A requirement of the brief is not met.
    evidence: diff
    severity: must
  - id: safe
    text: Is the change free of what a person has to decide first?
    no_when: It adds a secret.
    evidence: diff
    severity: must
    critical: true
  - id: small
    text: Is every part of the diff needed?
    no_when: A hunk is there that the brief does not need.
    evidence: diff
    severity: low
---

# Would you merge it?

Answer by what is in the diff.
"""
RUBRIC_SHA256 = sha256(RUBRIC.encode())
_IDENTITY = JudgeIdentity(
    judge="strict",
    client="command",
    client_version=None,
    model="scripted-1",
    parameters={"votes": 3},
    prompt_sha256="1" * 64,
    rubric_sha256=RUBRIC_SHA256,
    schema_sha256="2" * 64,
    rules=1,
    sha256="",
)
IDENTITY = replace(_IDENTITY, sha256=identity_digest(_IDENTITY))
CREATED = "2026-11-01T12:00:00.000Z"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One change: what each reviewer says (``people``), what each vote of the judge says.

    ``no`` are the questions that people answer with no, ``second`` those of the second reviewer
    where that one answers others. ``guesses`` are which configuration each reviewer thinks it was.
    """

    people: tuple[str, ...]
    votes: tuple[str, ...] = ("MERGE",)
    no: tuple[str, ...] = ()
    second: tuple[str, ...] | None = None
    guesses: tuple[str, ...] = ()

    def refused(self, reviewer: int) -> tuple[str, ...]:
        """The questions that a reviewer answers with no."""
        return self.no if reviewer == 0 or self.second is None else self.second


def cases(
    accepts: tuple[int, int], rejects: tuple[int, int], *, votes: int = 3, no: str = "solves"
) -> list[Case]:
    """``accepts``: of so many that people accept, the judge accepts so many; likewise rejects."""
    found = []
    for verdict, (right, of), said in (
        ("MERGE", accepts, ("MERGE", "REJECT")),
        ("REJECT", rejects, ("REJECT", "MERGE")),
    ):
        for number in range(of):
            judged = said[0] if number < right else said[1]
            refused = () if verdict == "MERGE" else (no,)
            found.append(Case(people=(verdict, verdict), votes=(judged,) * votes, no=refused))
    return found


def the_plan(
    count: int, run: str = "20261101-080000-aaaa", *, accept: str = "", **judgement: object
) -> Plan:
    """A plan over so many changes, which two configurations made by turns."""
    plan = a_plan(
        {name: a_configuration() for name in ("current", "cheap")},
        [f"task-{number:03}" for number in range((count + 1) // 2)],
        repetitions=1,
        suite="refunds",
        run=run,
        accept=accept or "checks and review:merge",
    )
    plain = PlannedJudgement(
        rubric="merge@1",
        rubric_sha256=RUBRIC_SHA256,
        reviewers=2,
        third=None,
        controls=0.0,
        repeats=0.0,
        shown=("checks",),
        reviewed="accepted_by_tests",
        usd_per_hour=None,
    )
    briefed = a_task(brief_sha256=sha256(b"# Task\n\nNo user without a name.\n"))
    tasks = dict.fromkeys(plan.tasks, briefed)
    return replace(plan, tasks=tasks, judgement=replace(plain, **judgement))  # type: ignore[arg-type]


def with_controls(plan: Plan) -> Plan:
    """The plan, with a right and a wrong answer of known worth in each task."""
    tasks = {
        name: replace(task, controls=("reference", "near-miss:half"))
        for name, task in plan.tasks.items()
    }
    return replace(plan, tasks=tasks)


def reconciled(root: Path, trials: Sequence[str], reason: str, item: str = "solves") -> None:
    """Settle an item of some trials as *no*."""
    (base,) = (root / "runs/refunds").iterdir()
    files = {}
    quoted = "".join(
        f"  - {{reviewer: {name}, packet: '0123456789ab', sha256: '{'0' * 64}'}}\n"
        for name in ("ann", "ben")
    )
    for number, trial in enumerate(trials):
        name = f"20261103T10{number:04}Z-{len(reason):06x}"
        text = (
            f"schema: trialbook/reconciliation/1\nid: {name}\nrun: refunds/{base.name}\n"
            f"trial: {trial}\nrubric: merge@1\nrubric_sha256: {RUBRIC_SHA256}\nreviews:\n{quoted}"
            f"participants: [ann, ben]\nitems:\n  - item: {item}\n"
            "    answers:\n      - {reviewer: ann, answer: 'yes'}\n"
            "      - {reviewer: ben, answer: 'no'}\n"
            f"    final: 'no'\n    moved: [ann]\n    reason: {reason}\n    text: We read it so.\n"
            f"minutes: 3\ncreated: '{CREATED}'\n"
        )
        files[f"runs/refunds/{base.name}/{trial}/reconciliations/{name}.yaml"] = text.encode()
    ledger = Ledger.open(root, System())
    ledger.commit(files, "reconcile\n")
    ledger.close()


def compared_ledger(folder: Path, found: Sequence[Case], **judgement: object) -> Path:
    """A ledger with one run that judge and people are through with."""
    folder.mkdir(parents=True, exist_ok=True)
    root = new_ledger(folder)
    write_files(root, {"rubrics/merge/v1.md": RUBRIC})
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "a rubric")
    add_run(root, found, the_plan(len(found), **judgement))  # type: ignore[arg-type]
    return root


def add_run(
    root: Path,
    found: Sequence[Case],
    plan: Plan,
    identity: JudgeIdentity = IDENTITY,
    started: str = "2026-11-01T08:00:00.000Z",
) -> None:
    """Add a run whose trials are the cases, reviewed and judged."""
    bundles = []
    for slot, _ in zip(plan.schedule, found, strict=False):
        trial = a_trial(plan, slot.key, Outcome.NEEDS_REVIEW, started=started)
        bundles.append(a_bundle(trial, grades=[a_grade({"typed": True})]))
    by_trial = {one.record.path: case for one, case in zip(bundles, found, strict=False)}
    base = f"runs/{plan.path}"
    files = {f"{base}/plan.json": to_json(plan)}
    for bundle in bundles:
        place = f"{base}/{bundle.record.path}"
        files |= {f"{place}/{name}": data for name, data in bundle.files.items()}
        files[f"{place}/trial.json"] = to_json(bundle.record)
    ledger = Ledger.open(root, System())
    ledger.commit(files, f"plan {plan.path}\n")
    results = results_of(plan, bundles)
    closing = {
        f"{base}/results.csv": results_csv(plan, results.trials),
        f"{base}/report.md": render_report(results),
    }
    ledger.commit(closing, f"results {plan.path}\n")
    reviews = _reviews(plan, bundles, by_trial)
    if reviews:
        ledger.commit(reviews, "reviews\n")
    judge(root, plan, bundles, by_trial, identity)
    ledger.close()


def judge(
    root: Path,
    plan: Plan,
    bundles: Sequence[TrialBundle],
    by_trial: dict[str, Case],
    identity: JudgeIdentity = IDENTITY,
    name: str = "20261101T100000Z-0a0b0c",
) -> None:
    """Add a generation of the judge's grades."""
    base = f"runs/{plan.path}"
    files: dict[str, bytes] = {}
    trials = []
    for bundle in bundles:
        grade = judge_grade(by_trial[bundle.record.path].votes, identity, bundle.record.path)
        data = to_json(grade)
        file = f"regrades/{name}/{grade.grader}.json"
        files[f"{base}/{bundle.record.path}/{file}"] = data
        (kept,) = bundle.record.grades
        lines = (
            RegradedGrade(
                grader=kept.grader,
                version="1",
                status=kept.status,
                accepted=kept.accepted,
                passed=kept.passed,
                total=kept.total,
                sha256=kept.sha256,
                file="grades/checks.json",
            ),
            RegradedGrade(
                grader=grade.grader,
                version=grade.version,
                status=grade.status.value,
                accepted=grade.accepted,
                passed=grade.passed,
                total=grade.total,
                sha256=sha256(data),
                file=file,
                verdict=grade.judgement.verdict if grade.judgement else None,
                trust=TrustLevel.UNCALIBRATED,
            ),
        )
        trials.append(
            RegradedTrial(
                trial=bundle.record.path,
                was=Outcome.NEEDS_REVIEW,
                outcome=Outcome.NEEDS_REVIEW,
                reason="",
                grades=lines,
            )
        )
    regrade = Regrade(
        id=name,
        run=plan.path,
        created=CREATED,
        author="A Person <a@example.invalid>",
        reason="judged",
        trialbook="0.1.0",
        graders=(
            UsedGrader(grader=f"judge-{identity.judge}", version=identity.short, distribution="x"),
        ),
        trials=tuple(trials),
    )
    files[f"{base}/regrades/{name}.json"] = to_json(regrade)
    ledger = Ledger.open(root, System())
    ledger.commit(files, f"judge {plan.path}\n")
    ledger.close()


def judge_grade(votes: Sequence[str], identity: JudgeIdentity, where: str) -> Grade:
    """A grade whose verdict is that of most votes."""
    verdict = max(votes, key=list(votes).count)
    usage = Usage()
    cast = tuple(
        JudgeVote(
            usable=True,
            verdict=one,
            said=one,
            answers={"solves": "yes" if one == "MERGE" else "no", "safe": "yes", "small": "yes"},
            findings=()
            if one == "MERGE"
            else (
                JudgeFinding(
                    question="solves",
                    quote="+        self._validate(name)",
                    file="src/user_service.py",
                    line=3,
                    text="An empty name is let through.",
                    severity=Severity.MUST,
                    supported=True,
                ),
            ),
            seconds=float(number) + len(where),
            usage=usage,
        )
        for number, one in enumerate(votes)
    )
    judgement = Judgement(
        rubric="merge@1",
        rubric_sha256=RUBRIC_SHA256,
        identity=identity,
        verdict=verdict,
        asked=len(votes),
        agreed=list(votes).count(verdict),
        answers=cast[0].answers,
        votes=cast,
    )
    return Grade(
        grader=f"judge-{identity.judge}",
        version=identity.short,
        status=GradeStatus.GRADED,
        accepted=verdict == "MERGE",
        passed=3 if verdict == "MERGE" else 2,
        total=3,
        message=f"{verdict}",
        judgement=judgement,
    )


def review_text(run: str, packet: str, reviewer: str, verdict: str, no: Sequence[str]) -> str:
    """A review as the form has it."""
    answers = "".join(
        f"  - question: {name}\n    answer: {'no' if name in no else 'yes'}\n"
        f'    evidence: ["src/user_service.py:3"]\n    note: {name} as I see it\n'
        for name in ("solves", "safe", "small")
    )
    findings = (
        "findings: []\n"
        if verdict == "MERGE"
        else 'findings:\n  - {where: "src/user_service.py:4", text: An empty name gets in.}\n'
    )
    return (
        f"schema: trialbook/review/1\nrun: {run}\npacket: '{packet}'\nreviewer: {reviewer}\n"
        f"rubric: merge@1\nrubric_sha256: {RUBRIC_SHA256}\nstarted: '{CREATED}'\n"
        f"answers:\n{answers}verdict: {verdict}\n{findings}minutes: 2.0\nsubmitted: '{CREATED}'\n"
    )


def _reviews(
    plan: Plan, bundles: Sequence[TrialBundle], by_trial: dict[str, Case]
) -> dict[str, bytes]:
    packets = Packets(
        plan=plan,
        plan_sha256=sha256(to_json(plan)),
        trials=tuple(one.record for one in bundles),
    )
    files: dict[str, bytes] = {}
    judgement = plan.judgement
    if judgement is None:
        return files
    for number, reviewer in enumerate(("ann", "ben")[: judgement.reviewers]):
        for packet in packets.of(reviewer):
            text = _one(plan, packet, number, by_trial)
            if text is not None:
                files[f"runs/{plan.path}/reviews/{reviewer}/{packet.id}.yaml"] = text.encode()
    return files


def _one(plan: Plan, packet: Packet, number: int, by_trial: dict[str, Case]) -> str | None:
    """What a reviewer says of a packet.

    The first one knows what is good, and says the same again; the second merges every control, and
    says something else the second time.
    """
    if packet.item.control:
        verdict = "MERGE" if packet.item.known_good or number else "REJECT"
        return review_text(plan.path, packet.id, packet.reviewer, verdict, ())
    case = by_trial[packet.item.trial]
    if len(case.people) <= number:
        return None
    verdict = case.people[number]
    if packet.repeat and number:
        verdict = "FIX" if verdict == "MERGE" else "MERGE"
    text = review_text(plan.path, packet.id, packet.reviewer, verdict, case.refused(number))
    if case.guesses and not packet.repeat:
        text += f"guess: {{configuration: {case.guesses[number]}, sure: 60}}\n"
    return text


def compare(
    root: Path, sample: int = 100, system: System | None = None, **more: object
) -> Calibrated:
    """Compare the judge with the people."""
    request = CalibrationRequest(judge="strict", rubric="merge@1", sample=sample, **more)  # type: ignore[arg-type]
    return calibrate(root, system or System(), request)


def note_all(root: Path, sample: int = 100) -> Calibration:
    """A comparison in which every difference has a note."""
    first = compare(root, sample)
    notes = dict.fromkeys(first.compared.numbers.disagreements, "It did not look further.")
    found = compare(root, sample, notes=notes, draw=Draw.EVEN)
    assert found.record is not None
    return found.record


def reader_of(root: Path) -> Reader:
    """The ledger as it is."""
    return Reader.open(root)


def trust_by_hand(root: Path, level: TrustLevel, created: str) -> None:
    """Add a generation whose grades say that the judge was trusted so far."""
    (base,) = (root / "runs/refunds").iterdir()
    (regrade,) = [
        from_json(Regrade, path.read_bytes(), path.name) for path in base.glob("regrades/*.json")
    ]
    name = "20261202T100000Z-0b0b0b"
    files, trials = {}, []
    for trial in regrade.trials:
        checks, line = trial.grades
        grade = judge_grade((line.verdict or "",) * 3, IDENTITY, trial.trial)
        assert grade.judgement is not None
        grade = replace(grade, judgement=replace(grade.judgement, trust=level))
        file = f"regrades/{name}/{grade.grader}.json"
        data = to_json(grade)
        files[f"runs/{regrade.run}/{trial.trial}/{file}"] = data
        now = replace(line, sha256=sha256(data), file=file, trust=level)
        trials.append(replace(trial, grades=(checks, now)))
    made = replace(regrade, id=name, created=created, trials=tuple(trials))
    files[f"runs/{regrade.run}/regrades/{name}.json"] = to_json(made)
    ledger = Ledger.open(root, System())
    ledger.commit(files, "trust me\n")
    ledger.close()
