"""How outcomes, patches and results follow, for verification: grading, storage and reporting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from trialbook.errors import EnvironmentProblem, Refused
from trialbook.grading.accept import decide
from trialbook.model.acceptance import parse_policy
from trialbook.model.grade import Grade
from trialbook.model.outcome import Outcome
from trialbook.model.plan import Plan
from trialbook.model.runfiles import REPORT, RESULTS
from trialbook.model.standing import standing_of
from trialbook.model.trial import Trial
from trialbook.reporting.report import render_report
from trialbook.reporting.results import RunResults, results_csv
from trialbook.storage.dry_store import DryStore
from trialbook.storage.objects import is_oid
from trialbook.storage.patching import apply_to_tree
from trialbook.storage.repository import DIRECTORY, Store
from trialbook.storage.trees import overlay_tree
from trialbook.verify.rules import NotHere, Rules

_MOST_KNOWN = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Where objects are looked for. Nothing is written to ``cache`` and ``ledger``.

    ``cache`` and ``ledger`` are ``objects`` folders; ``scratch`` takes what patches make;
    ``prefix`` is the ledger's folder in its repository, with a slash at its end.
    """

    cache: Path
    ledger: Path
    scratch: Path
    prefix: bytes


def rules_of(sources: Sources) -> Rules:
    """The rules with the objects that are there."""
    patches = Patches(sources)
    return Rules(decide=_decide, patched=patches.patched, chained=patches.chained, derived=derived)


def derived(
    plan: Plan, trials: Sequence[Trial], grades: Mapping[str, tuple[Grade, ...]]
) -> dict[str, bytes]:
    """Results and report of a run that nothing was corrected in, by name."""
    standings = {trial.path: standing_of(trial) for trial in trials}
    results = RunResults(plan=plan, trials=tuple(trials), grades=grades, standings=standings)
    return {
        RESULTS: results_csv(plan, standings.values(), results.summary),
        REPORT: render_report(results),
    }


_policy = lru_cache(maxsize=64)(parse_policy)


def _decide(accept: str, grades: Mapping[str, Grade]) -> Outcome:
    return decide(_policy(accept), grades)[0]


class Patches:
    """Applies patches to the baselines whose objects are on this machine."""

    def __init__(self, sources: Sources) -> None:
        self._prefix = sources.prefix
        info = sources.scratch / "info"
        info.mkdir(parents=True, exist_ok=True)
        places = [place for place in (sources.cache, sources.ledger) if place.is_dir()]
        text = "".join(f"{place}\n" for place in places)
        (info / "alternates").write_text(text, encoding="utf-8", errors="surrogateescape")
        self._store = Store.at(sources.scratch)
        self._dry = DryStore(self._store)
        self._here: set[str] = set()
        self._known: dict[tuple[str, str], str] = {}
        self._missing: set[str] = set()

    def patched(self, plan: Plan, trial: Trial, patch: bytes, digest: str) -> str:
        """The tree that a trial's patch, with its digest, makes of its recorded baseline.

        Raises:
            NotHere: the baseline's objects are not on this machine.
            Refused: the patch does not apply.
        """
        baseline = _baseline(trial)
        if not patch:
            return baseline
        key = baseline, digest
        if key in self._known:
            return self._known[key]
        if not self._is_here(baseline, plan, trial):
            raise self._not_here(plan)
        try:
            tree = apply_to_tree(self._dry, baseline, patch)
        except (KeyError, EnvironmentProblem):
            raise self._not_here(plan) from None
        finally:
            self._dry.forget()
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[key] = tree
        return tree

    def chained(self, plan: Plan, trial: Trial, patches: Sequence[bytes]) -> list[str]:
        """The tree after each of several patches, the first one on the recorded baseline.

        Raises:
            NotHere: the baseline's objects are not on this machine.
            Refused: a patch does not apply.
        """
        tree = _baseline(trial)
        if not self._is_here(tree, plan, trial):
            raise self._not_here(plan)
        trees: list[str] = []
        try:
            for patch in patches:
                tree = apply_to_tree(self._dry, tree, patch) if patch else tree
                trees.append(tree)
        except (KeyError, EnvironmentProblem):
            raise self._not_here(plan) from None
        finally:
            self._dry.forget()
        return trees

    def _is_here(self, baseline: str, plan: Plan, trial: Trial) -> bool:
        """Whether the baseline is there, or can be made of a snapshot and instructions that are."""
        if baseline in self._here or baseline in self._missing:
            return baseline in self._here
        here = baseline in self._store
        if not here:
            with suppress(KeyError, ValueError, EnvironmentProblem, Refused):
                here = self._made(plan, trial) == baseline
        (self._here if here else self._missing).add(baseline)
        return here

    def _made(self, plan: Plan, trial: Trial) -> str | None:
        configuration = plan.configurations.get(trial.configuration)
        snapshot = trial.workspace.snapshot_tree if trial.workspace else ""
        if configuration is None or configuration.instructions is None:
            return None
        path = f"suites/{plan.suite}/instructions/{configuration.instructions}".encode()
        top = self._store.commit(trial.plan_commit).tree
        laid = self._store.lookup(self._prefix + path, top)
        if laid is None or laid.mode != DIRECTORY:
            return None
        return overlay_tree(self._store, snapshot, laid.oid)

    def _not_here(self, plan: Plan) -> NotHere:
        return NotHere(
            f"the starting trees of {plan.suite} are not on this machine",
            hint=f"`trialbook eval {plan.suite} --dry-run` fetches them; then verify again",
        )


def _baseline(trial: Trial) -> str:
    if trial.workspace is None:
        raise Refused("the record has a patch, and no baseline")
    baseline = trial.workspace.baseline_tree
    if not is_oid(baseline):
        raise Refused(f"the recorded baseline is {baseline!r}, which is no tree")
    return baseline
