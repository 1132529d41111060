"""The baseline repository of a workspace: one commit of fixed author, date and message."""

from __future__ import annotations

from pathlib import Path

from trialbook.storage.repository import Signature, Store, closure

BASELINE_AUTHOR = Signature("Baseline", "baseline@localhost", 1_577_836_800)
"""Who the baseline commit is by, and when: always the same, so that its id depends on the tree."""

BASELINE_MESSAGE = "Baseline\n"
BRANCH = "refs/heads/main"
BASELINE_REF = "refs/trialbook/baseline"

CONFIG = b"""[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tautocrlf = false
[gc]
\tauto = 0
"""
"""The repository's whole configuration. An operator's own autocrlf would make every file look
changed; a garbage collection in the background would outlive the agent."""


def write_repository(store: Store, tree: str, commit: str, folder: Path) -> None:
    """Write a `.git` folder that holds one commit and the objects of its tree, nothing else."""
    for name in ("objects", "refs/heads", "refs/tags", "refs/trialbook"):
        (folder / name).mkdir(parents=True)
    objects = Store.at(folder / "objects")
    objects.copy_from(store, [commit, *closure(store, tree)])
    objects.close()
    (folder / "HEAD").write_text(f"ref: {BRANCH}\n")
    (folder / "config").write_bytes(CONFIG)
    for ref in (BRANCH, BASELINE_REF):
        (folder / ref).write_text(f"{commit}\n")
