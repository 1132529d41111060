"""The suite that readers look at: gates under its first protocol, reviews under its second."""

from __future__ import annotations

import shlex
import sys

from reference.clone import ROOT, Clone, Unexpected
from reference.reading import WHO

SUITE = "narrow-changes"
FIRST_LOCK = f"suites/{SUITE}/locks/1.json"
JUDGE, RUBRIC = "scripted-reader", "merge@1"
READERS = ("example-reader-1", "example-reader-2")
_MOST_PACKETS = 100
_LINE = f"suites/{SUITE}/instructions/narrow/AGENTS.md"

_FALSE_ALARM = (
    "a gate that failed, in two stages, for a check that was wrong; graded again by the check of "
    "protocol 2, it passes"
)
_DECISION = (
    "the held-out tasks are opened. The two reviewers and the judge are scripts: what they say was "
    "written down beforehand, and is nobody's opinion. Judged, reviewed, reconciled, calibrated"
)


def first_protocol(clone: Clone) -> None:
    """Gates by the first lock, made where it was the newest one, and merged into the ledger.

    Raises:
        Unexpected: the history of this repository does not reach so far back.
    """
    added = clone.git("log", "--format=%H", "--diff-filter=A", "--", FIRST_LOCK).split()
    if not added:
        raise Unexpected(f"no commit adds {FIRST_LOCK}: clone the whole history")
    branch = clone.git("branch", "--show-current").strip()
    clone.git("checkout", "--quiet", "-b", "first-protocol", added[-1])
    alike = ("--baseline", "current", "--candidate", "current-again")
    clone.add(
        "a gate between two configurations that are the same; it passes", "gate", SUITE, *alike
    )
    failed = clone.add(_FALSE_ALARM, "gate", SUITE, status=1)
    names = ("-c", "current", "-c", "two-tries", "-c", "narrow")
    about = "one round with a configuration that makes a second attempt"
    clone.add(about, "eval", SUITE, *names, "--seed", "two tries", "-r", "1")
    clone.git("checkout", "--quiet", branch)
    message = "Merge the runs of narrow-changes that were made under its first protocol"
    clone.git("merge", "--quiet", "--no-ff", "-m", message, "first-protocol")
    clone.git("branch", "--quiet", "--delete", "first-protocol")
    because = "the changes are right; a check of blank-name asks for more than the brief"
    clone.trialbook("alarm", failed[-1], "false", "--because", because)
    reason = "a check of blank-name asked for one wording of a message, which the brief does not"
    for run in failed:
        clone.trialbook("regrade", run, "--reason", reason)
    clone.trialbook("gate", *failed)


def second_protocol(clone: Clone) -> None:
    """The held-out tasks opened for a decision; a judge, two readers, and how far they agree."""
    names = ("-c", "current", "-c", "narrow")
    (run,) = clone.add(_DECISION, "eval", SUITE, "--decision", *names, "--seed", "decision")
    clone.trialbook("judge", run, "--judge", JUDGE)
    _review(clone, run)
    clone.trialbook("reconcile", run, environment={"VISUAL": _editor("settling")})
    _calibrate(clone)
    # Its verdicts count from now on as far as it is trusted now; it is not asked again.
    clone.trialbook("judge", run, "--judge", JUDGE)
    _resolve(clone)


def _review(clone: Clone, run: str) -> None:
    for reader in READERS:
        environment = {"VISUAL": _editor("reading"), WHO: reader}
        for _ in range(_MOST_PACKETS):
            asked = ("review", "next", "--reviewer", reader, "--run", run)
            said = clone.trialbook(*asked, environment=environment)
            if "next     " not in said:
                break


def _calibrate(clone: Clone) -> None:
    """Compare the judge with the readers; every difference gets a note written beforehand."""
    asked = ("calibrate", JUDGE, "--rubric", RUBRIC)
    found = clone.said(*asked)
    differ = found["numbers"]["disagreements"]
    said = "Written beforehand: the script takes a second place for one too many."
    notes = [part for trial in differ for part in ("--note", trial, said)]
    if notes:
        clone.trialbook(*asked, *notes)


def _resolve(clone: Clone) -> None:
    """Say where what the readers send back most often became a rule."""
    groups = clone.said("findings")["groups"]
    group = next(one for one in groups if set(READERS) & set(one["by"]))
    note = "The line whose worth this suite asks about."
    link = ("--rule", "instructions", "--link", _LINE)
    clone.trialbook("finding", "resolve", group["group"], *link, "--note", note)


def _editor(module: str) -> str:
    """A command that fills in a form where a person would open an editor."""
    program = f"import runpy, sys; sys.path.insert(0, {str(ROOT)!r}); "
    program += f"runpy.run_module('reference.{module}', run_name='__main__', alter_sys=False)"
    return shlex.join([sys.executable, "-c", program])
