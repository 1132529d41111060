"""Read the configuration and print what it comes to."""

import argparse

from rotor.config import Rule
from rotor.sizes import format_size

NAME = "check"


def arguments(parser: argparse.ArgumentParser) -> None:
    """What it can be told: nothing."""


def run(given: argparse.Namespace, rules: list[Rule]) -> int:
    """Print a line a log."""
    for rule in rules:
        there = "" if rule.path.is_file() else ", not there"
        print(f"{rule.name}: {rule.path.name} from {format_size(rule.size)}, keep {rule.keep}{there}")
    return 0
