"""Read the whole log and say what is wrong in it."""

import argparse
from pathlib import Path

from worklog import logfiles
from worklog.errors import LogMistake
from worklog.settings import Settings

NAME = "check"


def arguments(parser: argparse.ArgumentParser) -> None:
    """What it can be told."""
    parser.add_argument("--log", type=Path, metavar="FOLDER", help="the folder of the log")


def run(given: argparse.Namespace, settings: Settings) -> int:
    """Print the first mistake of every file, and how many entries are right."""
    right = wrong = 0
    for path in logfiles.paths(given.log or settings.log):
        try:
            for _ in logfiles.read(path):
                right += 1
        except LogMistake as mistake:
            print(mistake)
            wrong += 1
    print(f"{right} entries read, {wrong} files with a mistake")
    return 1 if wrong else 0
