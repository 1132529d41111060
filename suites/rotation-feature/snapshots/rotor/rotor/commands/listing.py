"""Print the logs and what was set aside."""

import argparse

from rotor.config import Rule
from rotor.names import generations
from rotor.sizes import format_size, parse_size

NAME = "list"


def arguments(parser: argparse.ArgumentParser) -> None:
    """What it can be told."""
    parser.add_argument("--over", metavar="SIZE", default="0", help="files of that size or more")


def run(given: argparse.Namespace, rules: list[Rule]) -> int:
    """Print a line a file, newest first."""
    over = parse_size(given.over)
    for rule in rules:
        logs = [rule.path] if rule.path.is_file() else []
        for path in (*logs, *(one.path for one in generations(rule.path))):
            size = path.stat().st_size
            if size >= over:
                print(f"{rule.name} {path.name} {format_size(size)}")
    return 0
