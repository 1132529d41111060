"""Records of the ledger that are YAML, so that people can write them: read strictly."""

from __future__ import annotations

from typing import Any, TypeVar

from trialbook.formats.authored import parse_document
from trialbook.formats.records import RecordError, from_plain
from trialbook.formats.schema import check_schema, load_schema

T = TypeVar("T")


def read_authored(data: bytes, shown: str, kind: type[T], schema: str) -> T:
    """The record that a file holds.

    Args:
        data: The bytes of the file.
        shown: Its name, for messages.
        kind: What it is.
        schema: The name of its schema.

    Raises:
        RecordError: it cannot be read as one; says every mistake with its place.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise RecordError(f"{shown}: not UTF-8: {error}") from error
    document, problems = parse_document(text, shown)
    if document is not None and not problems:
        problems = check_schema(document, load_schema(schema))
    if document is None or problems:
        raise RecordError("; ".join(map(str, problems)))
    value: Any = document.data
    return from_plain(kind, value, shown)
