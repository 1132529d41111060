"""Print a log with all its generations, oldest first."""

import argparse
import gzip
import shutil
import sys

from rotor.config import Rule
from rotor.errors import RotorError
from rotor.names import generations

NAME = "cat"


def arguments(parser: argparse.ArgumentParser) -> None:
    """What it can be told."""
    parser.add_argument("name", metavar="NAME", help="the section of a log")


def run(given: argparse.Namespace, rules: list[Rule]) -> int:
    """Hand the bytes on as they are."""
    by_name = {rule.name: rule.path for rule in rules}
    if given.name not in by_name:
        raise RotorError(f"there is no section [{given.name}]", given.config.name)
    log = by_name[given.name]
    for generation in reversed(generations(log)):
        opened = gzip.open if generation.compressed else open
        with opened(generation.path, "rb") as source:
            shutil.copyfileobj(source, sys.stdout.buffer)
    if log.is_file():
        sys.stdout.buffer.write(log.read_bytes())
    return 0
