"""A trial's log of network requests against what its record says of it."""

from __future__ import annotations

import json
from collections import Counter

from trialbook.model.trial import EgressRecord


def egress_problem(record: EgressRecord, log: bytes) -> str | None:
    """Why the record's counts do not follow from the log, in a sentence; None if they do.

    A log that was cut says how many requests it leaves out; then it may have fewer of each kind,
    and all of them together have to come to the record's number.
    """
    verdicts: Counter[str] = Counter()
    left_out = 0
    for line in log.splitlines():
        try:
            row = json.loads(line)
            if "left_out" in row:
                left_out += int(row["left_out"])
            else:
                verdicts[str(row["verdict"])] += 1
        except (ValueError, TypeError, KeyError):
            return "a line of it is no request"
    counts = {"allowed": record.allowed, "refused": record.refused, "failed": record.failed}
    total = sum(counts.values())
    if verdicts.total() + left_out != total:
        return f"it has {verdicts.total() + left_out} requests, recorded are {total}"
    for verdict, count in counts.items():
        there = verdicts[verdict]
        if there > count or (not left_out and there != count):
            return f"it has {there} requests that were {verdict}, recorded are {count}"
    return None
