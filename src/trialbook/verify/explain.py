"""What verification proves, and what no verification can."""

from __future__ import annotations

PROVES_AND_NOT: tuple[tuple[str, str], ...] = (
    (
        (
            "No record, plan or lock was changed or removed in any commit that leads to the "
            "head; with a witness, also none that came before it and is gone from history."
        ),
        (
            "That a trial happened as its record says, or that no other trials were made and "
            "never committed."
        ),
    ),
    (
        (
            "The plan was in the ledger before each of its trials, with these bytes: tasks, "
            "graders, limits, schedule and rerun policy were fixed by then."
        ),
        (
            "That nobody had seen results before the plan was committed. Dates in commits are "
            "claims; only a time stamp from outside says when."
        ),
    ),
    (
        (
            "Each slot of the plan has an outcome or is visibly missing, and trials were "
            "replaced only for failures that the plan allows to be replaced."
        ),
        (
            "That a failure of ours or of the world was one: the class of an outcome rests on "
            "what the runner saw."
        ),
    ),
    (
        (
            "Each outcome follows from the grades, each grade and artifact is the one that "
            "the record names, and each patch that could be applied gives the recorded final "
            "state."
        ),
        (
            "That the graders ask the right questions, that a sandbox kept agents in, or that "
            "a model had not seen the task before."
        ),
    ),
    (
        "Results and reports follow from the records, byte for byte.",
        "That people who reviewed did not know which configuration they looked at.",
    ),
    (
        (
            "Each calibration follows from the reviews and grades that were on record then, and "
            "no grade trusts its judge further than calibrations did."
        ),
        "That whoever noted a disagreement had read it, or that the judge errs as often elsewhere.",
    ),
    (
        "With a list of signers: every addition was signed by a key on the list.",
        (
            "Without a witness or signers: that the whole history was not made anew. It would "
            "be consistent in itself, and pass."
        ),
    ),
)
"""Pairs of sentences for two columns: what holds when nothing is wrong, and what it leaves open."""
