"""Set aside every log that is due."""

import argparse
from datetime import UTC, datetime

from rotor import journal
from rotor.config import Rule
from rotor.dated import dated_plan
from rotor.errors import RotorError
from rotor.plan import due

NAME = "run"


def arguments(parser: argparse.ArgumentParser) -> None:
    """What it can be told."""
    parser.add_argument("--dry-run", action="store_true", help="only say what would be done")
    parser.add_argument("--force", action="store_true", help="every log that is not empty is due")
    parser.add_argument("--now", metavar="TIME", help="the time, in UTC")


def run(given: argparse.Namespace, rules: list[Rule]) -> int:
    """Plan everything, then do it."""
    now = _time(given.now)
    plans = [(rule, dated_plan(rule, now)) for rule in rules if due(rule, force=given.force)]
    for rule, actions in plans:
        for action in actions:
            print(f"{rule.name}: {action.describe()}")
            if not given.dry_run:
                action.apply()
        if not given.dry_run:
            journal.note(given.config.parent, rule.name, now, actions)
    if not plans:
        print("nothing is due")
    return 0


def _time(text: str | None) -> datetime:
    if text is None:
        return datetime.now(UTC).replace(microsecond=0)
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC, microsecond=0)
    except ValueError:
        raise RotorError(f"{text!r} is no time such as 2026-03-02T10:15:00", "--now") from None
