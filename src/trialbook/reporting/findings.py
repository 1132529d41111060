"""What is sent back again and again: findings of checks, reviewers and trusted judges, in groups.

Two findings belong together if they are of the same check; or if they answer the same question of a
rubric (or are remarks that answer none) and at least half of all the words that the two use are in
both. Where one of them says nothing, or next to nothing, the same file decides. Groups that became
a rule are filled first, so that a rule never loses what repeats it; then the oldest finding that
fits nowhere begins the next group.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter

from trialbook.formats.records import RecordError, from_json
from trialbook.model.deciding import is_judge
from trialbook.model.digest import sha256
from trialbook.model.grade import Check, Grade
from trialbook.model.ledgerfiles import RULES, rule_path
from trialbook.model.review import Reviewed
from trialbook.model.rubric import AnswerKind
from trialbook.model.rule import About, Rule
from trialbook.model.standing import Standing, standing_of
from trialbook.model.trust import JudgeUse, allows
from trialbook.storage.corrections import amendments, grades, regrades, standings
from trialbook.storage.reader import Reader, RunRef

CHECK, QUESTION, REMARK = "check", "question", "remark"

_WORD = re.compile(r"[^\W_]{2,}")
_PLACE = re.compile(r"(.+?)(?::[0-9]+.*)?")
_FEWEST_WORDS = 3
_DIGITS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """One time that something was sent back. ``trial`` is ``<suite>/<run>/<trial>``.

    ``when`` is when the trial began; ``by`` a grader or a reviewer.
    """

    when: str
    trial: str
    by: str
    about: About


_trial, _by = attrgetter("trial"), attrgetter("by")
_place_in_time = attrgetter("when", "trial", "by")


@dataclass(frozen=True, slots=True, kw_only=True)
class SentBack:
    """What was sent back in one trial; ``opinions`` are not among the sightings."""

    sightings: tuple[Sighting, ...]
    opinions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Findings that belong together, oldest first, and the rules that they became."""

    id: str
    about: About
    sightings: tuple[Sighting, ...]
    rules: tuple[Rule, ...] = ()
    trials: int = field(init=False)
    """In how many trials it was found."""

    def __post_init__(self) -> None:
        # Once: it is asked for often, and of very many.
        object.__setattr__(self, "trials", len(set(map(_trial, self.sightings))))

    @property
    def by(self) -> tuple[str, ...]:
        """Who found it."""
        return tuple(sorted(set(map(_by, self.sightings))))

    @property
    def repeats(self) -> tuple[Sighting, ...]:
        """What was sent back in trials that began after it was a rule."""
        since = min((one.created for one in self.rules), default=None)
        return tuple(one for one in self.sightings if since is not None and one.when > since)


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """All groups, those with most trials first. ``opinions`` counts findings that do not count.

    Those are of judges that are not trusted so far.
    """

    groups: tuple[Group, ...]
    opinions: int


def findings(reader: Reader, runs: Sequence[RunRef] | None = None) -> Findings:
    """What was sent back in a ledger.

    Args:
        reader: The ledger.
        runs: Show only groups that these runs have a part in; the groups are those of the ledger.
    """
    seen: list[Sighting] = []
    opinions = 0
    for run in reader.runs():
        for found in sent_back(reader, run):
            seen += found.sightings
            opinions += found.opinions
    groups = _grouped(sorted(seen, key=_place_in_time), rules(reader))
    if runs is not None:
        wanted = tuple(f"{run.path}/" for run in runs)
        groups = [
            group
            for group in groups
            if any(one.trial.startswith(wanted) for one in group.sightings)
        ]
    return Findings(
        groups=tuple(sorted(groups, key=lambda one: (-one.trials, one.id))), opinions=opinions
    )


def sent_back(
    reader: Reader, run: RunRef, known: Mapping[str, Standing] | None = None
) -> Iterable[SentBack]:
    """Everything sent back in a run, trial by trial; each trial is read once while it stays.

    ``known`` are the run's trials as they stand, by path, if they are at hand.
    """
    if reader.plan(run).judgement is not None or regrades(reader, run):
        # What people came to, and later grades, are not in the folders of single trials.
        every = partial(_of_standings, reader, run)
        return reader.answer(run, "sent-back-in-run", list[SentBack], every)

    def read(path: str) -> SentBack:
        if known is not None:
            return _of_trial(reader, run, known[path])
        later = amendments(reader, run, path)
        return _of_trial(reader, run, standing_of(reader.trial(run, path), amendments=later))

    return reader.answer_each(run, "sent-back", SentBack, read).values()


def rules(reader: Reader) -> tuple[Rule, ...]:
    """The rules that findings became, oldest first; what cannot be read is left to verification."""
    found = []
    for name in reader.ledger_names(RULES):
        data = reader.ledger_file(f"{RULES}/{name}")
        if data is None:
            continue
        try:
            rule = from_json(Rule, data, name)
        except RecordError:
            continue
        if rule_path(rule.id) == f"{RULES}/{name}":
            found.append(rule)
    return tuple(sorted(found, key=lambda one: (one.created, one.id)))


def alike(one: About, other: About) -> bool:
    """Whether two findings belong together."""
    if (one.source, one.item) != (other.source, other.item):
        return False
    if one.source == CHECK:
        return True
    words, others = _words(one.text), _words(other.text)
    if min(len(words), len(others)) < _FEWEST_WORDS:
        return one.place == other.place
    return 2 * len(words & others) >= len(words | others)


def group_name(about: About) -> str:
    """What a group is called that begins with a finding."""
    parts = (about.source, about.item, about.place, about.text)
    return sha256("\x1f".join(parts).encode("utf-8", "surrogateescape"))[:_DIGITS]


# --- parts ---------------------------------------------------------------------------------------


def _grouped(seen: Sequence[Sighting], known: Sequence[Rule]) -> list[Group]:
    heads: dict[str, About] = {}
    of_rule: dict[str, list[Rule]] = {}
    # Only findings of one check, or on one question, can belong together.
    names: dict[tuple[str, str], list[str]] = {}
    for rule in known:
        of_rule.setdefault(rule.group, []).append(rule)
        if rule.group not in heads:
            heads[rule.group] = rule.about
            names.setdefault((rule.about.source, rule.about.item), []).append(rule.group)
    members: dict[str, list[Sighting]] = {name: [] for name in heads}
    for one in seen:
        about = one.about
        able = names.setdefault((about.source, about.item), [])
        if about.source == CHECK:
            name = able[0] if able else None
        else:
            name = next((name for name in able if alike(heads[name], about)), None)
        if name is None:
            name = group_name(about)
            heads[name] = about
            able.append(name)
            members.setdefault(name, [])
        members[name].append(one)
    return [
        Group(
            id=name,
            about=heads[name],
            sightings=tuple(found),
            rules=tuple(of_rule.get(name, ())),
        )
        for name, found in members.items()
    ]


def _of_standings(reader: Reader, run: RunRef) -> list[SentBack]:
    return [_of_trial(reader, run, one) for one in standings(reader, run)]


def _of_trial(reader: Reader, run: RunRef, standing: Standing) -> SentBack:
    trial = f"{run.path}/{standing.record.path}"
    found: list[tuple[str, About] | None] = []
    for grade in grades(reader, run, standing):
        found += _of_judge(grade) if is_judge(grade.grader) else _of_checks(grade)
    if standing.reviewed is not None:
        found += _of_people(standing.reviewed)
    known = tuple(
        Sighting(when=standing.record.started, trial=trial, by=by, about=about)
        for by, about in filter(None, found)
    )
    return SentBack(sightings=known, opinions=len(found) - len(known))


def _of_checks(grade: Grade) -> Iterator[tuple[str, About]]:
    for check in grade.checks:
        if check.passed is False:
            place = next((one.file for one in check.evidence if one.file), "")
            item = f"{grade.grader}:{check.id}"
            yield (
                grade.grader,
                About(source=CHECK, item=item, place=place, text=_check_said(check)),
            )


def _check_said(check: Check) -> str:
    return f"{check.question} {check.message}".strip()


def _of_judge(grade: Grade) -> Iterator[tuple[str, About] | None]:
    judgement = grade.judgement
    if judgement is None:
        return
    counts = allows(judgement.trust, JudgeUse.FINDINGS)
    rubric = judgement.rubric.partition("@")[0]
    said = {
        (one.question, one.file, one.text)
        for vote in judgement.votes
        if vote.usable and vote.verdict == judgement.verdict
        for one in vote.findings
        if one.supported
    }
    for question, file, text in sorted(said):
        about = About(source=QUESTION, item=f"{rubric}:{question}", place=file, text=text)
        yield (grade.grader, about) if counts else None


def _of_people(reviewed: Reviewed) -> Iterator[tuple[str, About]]:
    """What reviewers answered with no, and what else they found; nothing while it is sealed."""
    for review in reviewed.reviews:
        rubric = review.rubric.partition("@")[0]
        for answer in review.answers:
            if answer.answer is AnswerKind.NO:
                place = next(map(_file, answer.evidence), "")
                item = f"{rubric}:{answer.question}"
                about = About(source=QUESTION, item=item, place=place, text=answer.note)
                yield review.reviewer, about
        for finding in review.findings:
            place = _file(finding.where)
            about = About(source=REMARK, item="", place=place, text=finding.text)
            yield review.reviewer, about


def _file(place: str) -> str:
    """The file of a place such as ``src/app.py:3``."""
    match = _PLACE.fullmatch(place)
    return place if match is None else match[1]


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))
