"""What other branches know of a run: it is worked on in one place, or it cannot be merged."""

from __future__ import annotations

from pathlib import Path

from trialbook.errors import UserError
from trialbook.process import git
from trialbook.storage.reader import Reader, RunRef
from trialbook.storage.refs import ledger_ref
from trialbook.storage.repository import Repository


def refuse_if_ahead_elsewhere(root: Path, run: RunRef) -> None:
    """See that no branch here, and none that was fetched, has trials of the run that ours lacks.

    Two records of one slot would be made otherwise, and no merge could keep both.

    Raises:
        UserError: one has; says which, and how many.
        EnvironmentProblem: git is missing, or cannot list the branches.
    """
    reader = Reader.open(root)
    here = set(reader.trial_paths(run))
    reader.close()
    for commit, branch in _other_branches(root).items():
        there = Reader.open(root, commit)
        more = [path for path in there.trial_paths(run) if path not in here]
        there.close()
        if more:
            raise UserError(
                f"{branch} has {len(more)} trial{'s' * (len(more) > 1)} of {run.path} that "
                f"{'are' if len(more) > 1 else 'is'} not here, {more[0]} among them: what both "
                "run could not be merged",
                hint=f"`git merge {branch}` first, then go on; a branch that is not to count can "
                "be deleted",
            )


def _other_branches(root: Path) -> dict[str, str]:
    """The commits that branches hold, but not the ledger's own, each with one branch's name."""
    repository = Repository.discover(root)
    ours = repository.read_ref(ledger_ref(repository))
    wanted = ("--format=%(objectname) %(refname:short) %(symref)", "refs/heads", "refs/remotes")
    listed = git(["for-each-ref", *wanted], git_folder=repository.common_folder)
    lines = (line.split(" ") for line in listed.decode("utf-8", "replace").splitlines())
    # A symbolic one (origin/HEAD) is another name for one that is listed.
    return {commit: name for commit, name, target in lines if commit != ours and not target}
