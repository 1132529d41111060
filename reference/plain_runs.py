"""Runs that need nothing but the suites: replayed and scripted agents, each run once or twice."""

from __future__ import annotations

from reference.clone import INTERRUPTED, Clone, stop_after

DRIFT, HOOKS, GOLDEN = "instruction-drift", "hook-guard", "golden-python"
_NOTE = (
    "Nobody was asked anything in this trial: a recording was replayed. The minute is made up, to "
    "show how a person's part is recorded and counted."
)


def instructions_of_another_day(clone: Clone) -> None:
    """The first run of a suite that is run again at the end, and a draft of it."""
    clone.add("recordings under two versions of `AGENTS.md`", "eval", DRIFT, "--seed", "first")
    about = "a draft, since the suite is locked with a sandbox: it compares with nothing"
    clone.add(about, "eval", DRIFT, "--seed", "draft", "--sandbox", "none", "-r", "1")


def instructions_once_more(clone: Clone) -> None:
    """The second run, which differs from the first in nothing; a gate; and a correction of it."""
    about = "the same once more; one trial has a correction, which says that it is made up"
    (run,) = clone.add(about, "eval", DRIFT, "--seed", "second")
    about = "a gate that fails: the line changes what comes out"
    (gate,) = clone.add(about, "gate", DRIFT, status=1)
    because = "the recordings were written to miss what the line argues against"
    clone.trialbook("alarm", gate, "real", "--because", because)
    reason = "an example of a correction, made by the command that made this ledger"
    added = ("--intervention", "clarification:1", "--note", _NOTE)
    clone.trialbook("amend", f"{run}/invitation-docs/baseline/r2", "--reason", reason, *added)


def hooks(clone: Clone) -> None:
    """The golden test of a hook: the run as it is, and two gates that have to fail."""
    clone.add("a hook and two broken ones, each asked four times", "eval", HOOKS, "--seed", "hooks")
    for broken in ("refuses-all", "refuses-none"):
        names = ("--baseline", "current", "--candidate", broken)
        about = f"a gate that fails: `{broken}` is broken"
        (run,) = clone.add(about, "gate", HOOKS, *names, status=1)
        clone.trialbook("alarm", run, "real", "--because", "the hook was broken on purpose")


def ways_out(clone: Clone) -> None:
    """Eight ways out of the isolation, none of which may succeed."""
    about = "scripts that try to get out of a trial's isolation, and do not"
    clone.add(about, "eval", "escape-room", "--seed", "ways out")


def released_bugs(clone: Clone) -> None:
    """The controls of the golden suite, stopped in the middle and resumed."""
    (run,) = clone.noted(
        GOLDEN,
        "three controls whose results are known; stopped by Ctrl-C after nine trials, then resumed",
        lambda: clone.watched(
            "eval", GOLDEN, "--seed", "controls", seen=stop_after(9), status=INTERRUPTED
        ),
    )
    clone.trialbook("resume", run)
