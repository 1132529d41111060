"""Names of runs and trials as people type them: whole, or cut short where that is clear."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from trialbook.errors import UserError

_SHOWN = 5


@dataclass(frozen=True, slots=True, order=True)
class RunRef:
    """A run by its suite and its name."""

    suite: str
    run: str

    @property
    def path(self) -> str:
        """The run's folder below ``runs/``."""
        return f"{self.suite}/{self.run}"


def resolve(
    text: str, runs: Sequence[RunRef], trials: Callable[[RunRef], Sequence[str]]
) -> RunRef | tuple[RunRef, str]:
    """What an argument RUN or TRIAL means.

    Args:
        text: ``[<suite>/]<run>[/<task>/<configuration>/r<k>]``; the run may be cut short.
        runs: All runs.
        trials: Gives the folders of a run's trials.

    Raises:
        UserError: nothing fits, or more than one thing does; the hint lists candidates.
    """
    parts = [part for part in text.strip().split("/") if part not in ("", ".")]
    if parts[:1] == ["runs"]:
        parts = parts[1:]
    readings = _readings(parts, runs)
    if not readings:
        raise _unknown(text, "run", [run.path for run in runs], [run.run for run in runs])
    if len(readings) > 1:
        raise UserError(
            f"{text!r} fits {len(readings)} runs",
            hint=f"give more of the name: {_listed([run.path for run, _ in readings])}",
        )
    run, rest = readings[0]
    if not rest:
        return run
    known = trials(run)
    if rest not in known:
        raise _unknown(text, "trial", [f"{run.path}/{path}" for path in known])
    return run, rest


def _readings(parts: list[str], runs: Sequence[RunRef]) -> list[tuple[RunRef, str]]:
    """Every run that the words may begin with, and what is left; whole names go first."""
    if not parts:
        return []
    for fits in (str.__eq__, str.startswith):
        found = [
            (run, "/".join(parts[2:]))
            for run in runs
            if len(parts) > 1 and run.suite == parts[0] and fits(run.run, parts[1])
        ]
        found += [(run, "/".join(parts[1:])) for run in runs if fits(run.run, parts[0])]
        if found:
            return found
    return []


def _unknown(text: str, kind: str, names: Sequence[str], more: Sequence[str] = ()) -> UserError:
    if not names:
        return UserError(f"there is no {kind} {text!r}: there are none yet")
    near = difflib.get_close_matches(text, [*names, *more], n=_SHOWN, cutoff=0.5)
    inside = [name for name in names if text in name]
    found = list(dict.fromkeys([*inside, *near]))
    hint = f"did you mean {_listed(found)}" if found else f"there are {_listed(names)}"
    return UserError(f"there is no {kind} {text!r}", hint=hint)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_SHOWN])
    left = len(names) - _SHOWN
    return f"{shown} and {left} more" if left > 0 else shown
