"""Whether an older run may stand in for a baseline that was not run again."""

from __future__ import annotations

from datetime import datetime, timedelta

from trialbook.model.plan import Plan

OLDEST = timedelta(days=14)
CAUTION = "historical baseline: a change of the model or its service since is not excluded"


def obstacles_of_age(old: Plan, new: Plan, baseline: str, candidate: str) -> list[str]:
    """Why the baseline's trials in an older run do not stand beside the candidate's in a newer one.

    Suite, graders and tasks are for `comparability.obstacles` to compare.
    """
    found = []
    age = datetime.fromisoformat(new.created) - datetime.fromisoformat(old.created)
    if age > OLDEST:
        found.append(
            f"{old.path} is {age.days} days older; a baseline may be {OLDEST.days} days old"
        )
    if old.runner.trialbook != new.runner.trialbook:
        found.append(
            f"{old.path} was run by trialbook {old.runner.trialbook}, {new.path} by "
            f"{new.runner.trialbook}"
        )
    before, after = old.configurations[baseline], new.configurations[candidate]
    for what, one, other in (
        ("model", before.model, after.model),
        ("agent", before.agent, after.agent),
        ("agent's version", before.agent_version, after.agent_version),
        ("client's version", before.client_version, after.client_version),
        ("limits", before.limits, after.limits),
        ("sandbox", before.sandbox, after.sandbox),
        ("second attempt", before.escalation, after.escalation),
    ):
        if one != other:
            found.append(f"the {what} of {baseline} then and of {candidate} now differ")
    return found
