"""Who may review what: names of reviewers, and answers that would not be independent."""

from __future__ import annotations

import re

from trialbook.errors import UserError
from trialbook.model.packets import Packet
from trialbook.model.runfiles import REVIEWER_PATTERN
from trialbook.storage.reader import RunRef
from trialbook.storage.reviews import RunReviews


def check_reviewer(name: str) -> None:
    """See that somebody may be called that.

    Raises:
        UserError: no.
    """
    if not re.fullmatch(REVIEWER_PATTERN, name):
        raise UserError(
            f"{name!r} is no name of a reviewer",
            hint="use a-z, 0-9, `_` and `-`, at most 40 characters, and always the same for one "
            "person",
        )


def closed_to(run: RunRef, reviews: RunReviews, reviewer: str, packet: Packet | None = None) -> str:
    """Why somebody may not review a run, or one packet of it; empty if they may."""
    if reviewer == reviews.judgement.third:
        return (
            f"{reviewer} is the third reviewer of {run.path}, who decides what others do not "
            "agree on: see `trialbook reconcile`"
        )
    if not reviews.closed:
        return f"{run.path} is not closed yet: `trialbook resume {run.run}` ends it"
    waiting = reviews.waiting(reviewer) if packet is None else (packet,)
    if waiting and not any(map(reviews.independent, waiting)):
        return (
            f"the reviews of {run.path} are open: {' and '.join(reviews.complete)} are in, and "
            "an answer given now would not be independent of theirs"
        )
    return ""
