from __future__ import annotations

import json

import pytest

from trialbook.model.trial import EgressRecord
from trialbook.verify.egress import egress_problem


def a_log(*verdicts: str, left_out: int = 0) -> bytes:
    rows: list[dict[str, object]] = [{"host": "a.example", "verdict": one} for one in verdicts]
    if left_out:
        rows.append({"left_out": left_out})
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def a_record(allowed: int = 0, refused: int = 0, failed: int = 0) -> EgressRecord:
    return EgressRecord(
        allowed=allowed,
        refused=refused,
        failed=failed,
        sent=0,
        received=0,
        hosts=(),
        hosts_refused=(),
        log="egress.jsonl",
    )


@pytest.mark.parametrize(
    ("record", "log"),
    [
        (a_record(), b""),
        (a_record(2, 1), a_log("allowed", "refused", "allowed")),
        (a_record(2, 3, 1), a_log("allowed", "refused", left_out=4)),
    ],
)
def test_counts_that_follow_from_the_log(record: EgressRecord, log: bytes) -> None:
    assert egress_problem(record, log) is None


@pytest.mark.parametrize(
    ("record", "log", "told"),
    [
        (a_record(2), a_log("allowed"), "it has 1 requests, recorded are 2"),
        (a_record(2, 1), a_log("allowed", "refused", "refused"), "1 requests that were allowed"),
        (a_record(1, 1), a_log("allowed", "refused", left_out=1), "3 requests, recorded are 2"),
        (a_record(0, 2), a_log("allowed", left_out=1), "1 requests that were allowed"),
        (a_record(1), b"[1]\n", "a line of it is no request"),
        (a_record(1), b"\xff{\n", "a line of it is no request"),
        (a_record(1), b'{"left_out": "x"}\n', "a line of it is no request"),
    ],
)
def test_counts_that_do_not(record: EgressRecord, log: bytes, told: str) -> None:
    assert told in (egress_problem(record, log) or "")
