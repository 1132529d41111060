"""``prices/*.yaml``: what models cost on a day, for clients that do not tell what they cost."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from trialbook.errors import Problem, UserError
from trialbook.formats.authored import read_document
from trialbook.formats.document import Document
from trialbook.formats.schema import check_schema, load_schema
from trialbook.model.digest import sha256
from trialbook.model.prices import Price, PriceTable
from trialbook.model.usage import money

FOLDER = "prices"


def newest_prices(root: Path, day: date) -> PriceTable | None:
    """The table of the latest day that is not after ``day``; None if there is none.

    Raises:
        UserError: every mistake in the tables, or two are of one day.
    """
    tables: dict[date, PriceTable] = {}
    problems: list[Problem] = []
    for path in sorted((root / FOLDER).glob("*.yaml")):
        shown = f"{FOLDER}/{path.name}"
        document, wrong = read_document(path, shown)
        if document is not None:
            wrong = [*wrong, *check_schema(document, load_schema("prices"))]
        moment = None if document is None or wrong else _day(document, wrong)
        if document is None or moment is None:
            problems += wrong
            continue
        if moment in tables:
            other = tables[moment].path
            problems.append(Problem(path=shown, message=f"{other} is of the same day"))
        tables[moment] = _table(document.data, shown, path)
    if problems:
        raise UserError(problems=problems)
    past = [moment for moment in tables if moment <= day]
    return tables[max(past)] if past else None


def _day(document: Document, wrong: list[Problem]) -> date | None:
    try:
        return date.fromisoformat(document.data["date"])
    except ValueError:
        line, column = document.position(("date",))
        message = f"`{document.data['date']}` is no day"
        wrong.append(
            Problem(
                path=document.path,
                line=line,
                column=column,
                message=message,
                hint="write it as 2026-11-30",
            )
        )
        return None


def _table(data: Mapping[str, Any], shown: str, path: Path) -> PriceTable:
    return PriceTable(
        path=shown,
        sha256=sha256(path.read_bytes()),
        date=data["date"],
        models={
            name: Price(**{kind: _amount(amount) for kind, amount in prices.items()})
            for name, prices in data["models"].items()
        },
    )


def _amount(written: float) -> str:
    # The shortest text of a number is what was written, up to zeros at the end.
    return money(Decimal(str(written)))
