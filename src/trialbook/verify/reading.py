"""Reading records for verification: what cannot be read, or is not as written, becomes a fault."""

from __future__ import annotations

from typing import TypeVar

from trialbook.formats.records import RecordError, from_json, is_canonical
from trialbook.verify.codes import Code
from trialbook.verify.findings import Findings

T = TypeVar("T")


def read_record(kind: type[T], data: bytes, path: str, findings: Findings) -> T | None:
    """The record that a file holds, or None with a fault."""
    try:
        value = from_json(kind, data, path)
    except RecordError as error:
        findings.fault(Code.RECORD_UNREADABLE, error.message.removeprefix(f"{path}: "), path=path)
        return None
    if not is_canonical(value, data):
        findings.fault(Code.RECORD_NOT_CANONICAL, "its bytes are not the program's", path=path)
    return value
