"""Print all that there is of a log, the oldest first."""

import argparse
import gzip
import shutil
import sys
from pathlib import Path

from rotor.config import Rule
from rotor.dated import dated_generations
from rotor.errors import RotorError

NAME = "cat"


def arguments(parser: argparse.ArgumentParser) -> None:
    """What it can be told."""
    parser.add_argument("name", metavar="NAME", help="the section of the log")


def run(given: argparse.Namespace, rules: list[Rule]) -> int:
    """Print the bytes as they were written."""
    found = [rule for rule in rules if rule.name == given.name]
    if not found:
        raise RotorError(f"there is no section [{given.name}]", given.config.name)
    log = found[0].path
    paths = reversed(dated_generations(log))
    for path in (*paths, *([log] if log.is_file() else [])):
        _print(path)
    return 0


def _print(path: Path) -> None:
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as source:
        shutil.copyfileobj(source, sys.stdout.buffer)
