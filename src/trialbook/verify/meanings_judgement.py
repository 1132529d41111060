"""What the codes mean that are about people who review, judges, and how far these are trusted."""

from __future__ import annotations

from trialbook.verify.meaning import Meaning

JUDGEMENT: dict[str, Meaning] = {
    "review-unknown": Meaning(
        "A review is about a packet that the run does not have.",
        "The names of packets follow from the plan and the reviewer's name. This one was made up, "
        "copied from another run, or is in another person's folder.",
    ),
    "review-rubric": Meaning(
        "A review or a reconciliation was made with another rubric than the plan names.",
        "Its answers are to other questions, or to the same ones worded in another way.",
    ),
    "review-twice": Meaning(
        "A reviewer reviewed something twice that the plan asks for once.",
        "Either two reviews of one packet were committed on two branches, or a packet was made up "
        "that repeats another. Which of two answers counts must not be chosen afterwards.",
    ),
    "review-differs": Meaning(
        "A review does not answer the questions of its rubric.",
        "Its answers are to other questions than those of the other reviewers, or one is missing "
        "or there twice. It was not handed in by the program.",
    ),
    "reconciliation-early": Meaning(
        "A reconciliation was made without all of the reviews that it is about.",
        "Reviewers may talk only when all of them are in. Its commit must come after those that "
        "added the reviews, and it must name as many as the plan asks for.",
    ),
    "reconciliation-differs": Meaning(
        "A reconciliation does not say what the reviews say.",
        "It quotes answers, or names digests, that are not those of the reviews, or settles what "
        "nobody disputes. The reviews stand; what it settles has to be looked at again.",
    ),
    "calibration-differs": Meaning(
        "A calibration does not follow from the reviews and grades that it is made from.",
        "Made again from the ledger as it was when the record came, the sample, the labels, the "
        "judge's verdicts or the numbers are others. The judge is trusted with nothing by it. "
        "Compare it anew with `trialbook calibrate`, and look at who wrote this record.",
    ),
    "trust-differs": Meaning(
        "A judge's grade says that the judge was trusted further than calibrations allow.",
        "The calibrations that were in the ledger when the grade came, of exactly this judge and "
        "not too old by then, give a lower level. What it decided has to be judged again.",
    ),
    "rule-link": Meaning(
        "A rule names a path that the commit which it names does not have.",
        "Then nobody can read what the finding became. Put another rule on record with "
        "`trialbook finding resolve`, which looks before it writes.",
    ),
}
"""By code."""
