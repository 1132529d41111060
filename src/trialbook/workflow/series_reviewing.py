"""What people answer about a series: the packet for each rubric, and the file in the ledger."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trialbook.errors import UserError
from trialbook.formats.authored import parse_document, read_text
from trialbook.formats.diff import parse_diff
from trialbook.model.digest import sha256
from trialbook.model.plan import Plan
from trialbook.model.review import Review
from trialbook.model.rubric import Rubric
from trialbook.model.runfiles import OWN_PATCH, PATCH, attempt_folder, notes_patch
from trialbook.model.series_questions import (
    CONTINUITY,
    MAINTAINABILITY,
    REPAIR,
    SERIES_RUBRICS,
    TRAJECTORY,
)
from trialbook.model.trial import Trial
from trialbook.registry import Registry
from trialbook.reporting.series_files import SeriesFiles, load_series
from trialbook.review.blinding import Blinding, private_paths, secrets_of, words_of
from trialbook.review.checking import Expected, check_review
from trialbook.review.form import FormHead, form
from trialbook.review.packet import Hidden, Material, blinded
from trialbook.review.plain_diff import plain_diff
from trialbook.site.packet_page import packet_page
from trialbook.storage.ledger import Ledger
from trialbook.storage.messages import review_message
from trialbook.storage.reader import Reader, RunRef
from trialbook.storage.rubrics import load_rubric, rubric_files
from trialbook.storage.series_reviews import series_review_path
from trialbook.system import System, timestamp
from trialbook.workflow.review_drafts import BRIEF, CHANGE, FORM, PAGE, completed
from trialbook.workflow.reviewers import check_reviewer

STDOUT = "stdout.txt"
TRAJECTORY_TEXT = "trajectory.txt"
SESSIONS_TEXT = "sessions.txt"
_BESIDE = (
    f"What is to be judged is beside this file: {PAGE}, or {BRIEF} and {CHANGE}. "
    f"What came about in which session is in {SESSIONS_TEXT}."
)
_ASK_WHAT_IS_SAID = frozenset({CONTINUITY, REPAIR})
_DIGITS = 12
_SEPARATOR = "\x1f"
_LONGEST = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesPacket:
    """One rubric about one series for one reviewer; ``id`` does not say which series it is."""

    id: str
    run: RunRef
    trial: Trial
    reviewer: str
    rubric: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """Answers in the ledger: what they are, where, and the commit."""

    review: Review
    path: str
    commit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesDesk:
    """Where people answer what is asked about series."""

    root: Path
    system: System
    registry: Registry
    ledger: Ledger
    reader: Reader

    @classmethod
    def open(cls, root: Path, system: System, registry: Registry) -> SeriesDesk:
        """The desk of a ledger."""
        ledger = Ledger.open(root, system)
        reader = Reader.open(root, ledger.ref)
        return cls(root=root, system=system, registry=registry, ledger=ledger, reader=reader)

    def packet(self, run: RunRef, trial: str, reviewer: str, rubric: str) -> SeriesPacket:
        """The packet with one rubric.

        Raises:
            UserError: it is no series, a name that no reviewer may have, or answers that have to
                be there first are not.
        """
        check_reviewer(reviewer)
        record = self.reader.trial(run, trial)
        if not record.sessions:
            raise UserError(
                f"{trial} has one session, and no series",
                hint="review it with `trialbook review next`",
            )
        first = series_review_path(trial, reviewer, MAINTAINABILITY)
        if rubric == TRAJECTORY and self.reader.file(run, first) is None:
            raise UserError(
                f"{reviewer} has not answered {MAINTAINABILITY} about {trial}",
                hint="the way to a result is looked at when the result has been judged: answer "
                f"`{MAINTAINABILITY}` first",
            )
        return self._packet(run, record, reviewer, rubric)

    def files(self, packet: SeriesPacket) -> dict[str, bytes]:
        """What a packet consists of: the empty form, and what there is to judge.

        Raises:
            UserError: the rubric is not in the ledger.
        """
        rubric = self.rubric(packet.rubric)
        material = self.material(packet)
        head = FormHead(
            run=packet.run.path,
            packet=packet.id,
            reviewer=packet.reviewer,
            started=timestamp(self.system.now()),
        )
        files = {
            PAGE: packet_page(packet.id, material, rubric),
            BRIEF: material.brief.encode("utf-8", "backslashreplace"),
            CHANGE: plain_diff(material.files).encode("utf-8", "backslashreplace"),
            FORM: form(head, rubric, _BESIDE).encode(),
        }
        found = load_series(self.reader, packet.run, self._plan(packet.run), packet.trial)
        blinding = self._blinding(packet, material)
        texts = {} if found is None else {SESSIONS_TEXT: self._sessions(packet, found, blinding)}
        if found is not None and packet.rubric == TRAJECTORY:
            texts[TRAJECTORY_TEXT] = self._way(packet, found)
        for name, lines in texts.items():
            text = blinding.text("\n".join(lines))
            files[name] = f"{text}\n".encode("utf-8", "backslashreplace")
        return files

    def material(self, packet: SeriesPacket) -> Material:
        """The briefs of all sessions and all that was done, without what says who did it."""
        plan, trial = self._plan(packet.run), packet.trial
        briefs = []
        for one in trial.sessions:
            path = f"{trial.path}/{attempt_folder(one.session, 1)}/prompt.md"
            text = (self.reader.file(packet.run, path) or b"").decode("utf-8", "replace")
            briefs.append(f"# Session {one.session}: {one.name}\n\n{text.strip()}\n")
        own = trial.change is not None and trial.change.own is not None
        path = f"{trial.path}/{OWN_PATCH if own else PATCH}"
        patch = self.reader.file(packet.run, path) or b""
        return blinded("\n".join(briefs), patch, (), (), self._hidden(plan, packet.run))

    def _hidden(self, plan: Plan, run: RunRef) -> Hidden:
        places = (str(self.root.resolve()), str(self.system.cache_folder()))
        secrets = secrets_of(plan, self.reader.trials(run), places, self.ledger.identity.name)
        return Hidden(secrets=tuple(secrets), paths=private_paths(plan))

    def _blinding(self, packet: SeriesPacket, material: Material) -> Blinding:
        """What takes the same out of other texts as is not in the brief and the change."""
        hidden = self._hidden(self._plan(packet.run), packet.run)
        words = words_of(material.brief, material.files, hidden.paths)
        return Blinding(secrets=hidden.secrets, words=words, private=hidden.paths)

    def _sessions(
        self, packet: SeriesPacket, files: SeriesFiles, blinding: Blinding
    ) -> Iterator[str]:
        """What the whole change does not tell: what was laid in, commits, notes by session."""
        for one in packet.trial.sessions:
            yield f"== session {one.session}: {one.name}"
            if one.session in files.planted:
                yield "laid in before it began, and not written in it:"
                yield from (f"  {path}" for path in sorted(files.planted[one.session].paths))
            if packet.rubric not in _ASK_WHAT_IS_SAID:
                continue
            for commit in one.written:
                yield f"commit: {commit.subject}"
                yield from (f"  {line}".rstrip() for line in commit.body.splitlines())
            path = f"{packet.trial.path}/{notes_patch(one.session)}"
            patch = self.reader.file(packet.run, path) or b""
            yield plain_diff(blinding.diff(parse_diff(patch)))

    def _way(self, packet: SeriesPacket, files: SeriesFiles) -> Iterator[str]:
        """What was done step by step; where no steps are on record, what the agent printed."""
        yield from _events(files)
        for attempt in packet.trial.attempts:
            if attempt.session in files.trajectories:
                continue
            path = f"{attempt_folder(attempt.session, attempt.attempt)}/{STDOUT}"
            data = self.reader.file(packet.run, f"{packet.trial.path}/{path}") or b""
            yield f"== session {attempt.session} attempt {attempt.attempt}"
            yield "no steps are on record; it printed:"
            yield data.decode("utf-8", "replace")[:_LONGEST]

    def rubric(self, name: str) -> Rubric:
        """The newest version of a rubric in the ledger.

        Raises:
            UserError: there is none.
        """
        known = [one for one in rubric_files(self.root) if one.name == name]
        if not known:
            raise UserError(
                f"the ledger has no rubric {name}",
                hint=f"copy it: `trialbook init` writes rubrics/{name}/v1.md",
            )
        return load_rubric(self.root, max(known, key=lambda one: one.version).reference)

    def answer(self, path: Path, shown: str) -> Answered:
        """Hand in answers that are in a file: one commit that adds one file.

        Raises:
            UserError: everything that is wrong with it; or they are handed in already, and others.
            EnvironmentProblem: the ledger cannot be written.
        """
        text, problem = read_text(path, shown)
        if text is None:
            raise UserError(problems=[] if problem is None else [problem])
        text = completed(text, self.system, None, None)
        document, problems = parse_document(text, shown)
        if problems:
            raise UserError(problems=problems)
        data = None if document is None else document.data
        packet = self._packet_of(data if isinstance(data, dict) else {})
        if packet is None:
            raise UserError(
                f"{shown}: no packet of a series is called so in this ledger",
                hint="take a fresh form from `trialbook series questions`",
            )
        rubric = self.rubric(packet.rubric)
        expected = Expected(
            rubric=rubric,
            identity={"rubric": rubric.reference, "rubric_sha256": rubric.sha256},
            paths=None,
            configurations=frozenset(self._plan(packet.run).configurations),
        )
        review, wrong = check_review(text, shown, expected)
        if review is None:
            raise UserError(problems=wrong)
        where = series_review_path(packet.trial.path, packet.reviewer, packet.rubric)
        there = self.reader.file(packet.run, where)
        if there is not None and there != text.encode():
            raise UserError(
                f"{packet.reviewer} has answered {packet.rubric} about this series already",
                hint="answers are never changed",
            )
        full = f"runs/{packet.run.path}/{where}"
        commit = self.ledger.commit({full: text.encode()}, review_message(review))
        return Answered(review=review, path=full, commit=commit)

    def _plan(self, run: RunRef) -> Plan:
        return self.reader.plan(run)

    def _packet(self, run: RunRef, trial: Trial, reviewer: str, rubric: str) -> SeriesPacket:
        key = bytes.fromhex(sha256(self.reader.plan_bytes(run)))
        text = _SEPARATOR.join((f"{run.path}/{trial.path}", rubric, reviewer))
        name = hmac.new(key, text.encode("utf-8", "surrogateescape"), hashlib.sha256).hexdigest()
        return SeriesPacket(
            id=name[:_DIGITS], run=run, trial=trial, reviewer=reviewer, rubric=rubric
        )

    def _packet_of(self, data: dict[str, Any]) -> SeriesPacket | None:
        suite, _, name = str(data.get("run") or "").partition("/")
        run = RunRef(suite, name)
        reviewer = str(data.get("reviewer") or "")
        if run not in self.reader.runs():
            return None
        check_reviewer(reviewer)
        for trial in self.reader.trials(run):
            for rubric in SERIES_RUBRICS if trial.sessions else ():
                packet = self._packet(run, trial, reviewer, rubric)
                if packet.id == data.get("packet"):
                    return self.packet(run, trial.path, reviewer, rubric)
        return None


def _events(files: SeriesFiles) -> Iterator[str]:
    """What the agent did, one event a paragraph, with the numbers that answers point at."""
    for session, each in sorted(files.trajectories.items()):
        for attempt, trajectory in enumerate(each, 1):
            yield f"== session {session} attempt {attempt}"
            for event in trajectory.events:
                said = event.command or event.path or event.text
                ended = "" if event.exit_code is None else f" (status {event.exit_code})"
                yield f"[event {event.number}] {event.kind.value}{ended}: {said[:_LONGEST]}"
                if event.output:
                    yield event.output[:_LONGEST]
