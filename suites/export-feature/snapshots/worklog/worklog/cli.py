"""The command line: finds the commands, runs one."""

import argparse
import importlib
import pkgutil
import sys
from pathlib import Path

from worklog import commands, settings
from worklog.errors import WorklogError


def parser() -> argparse.ArgumentParser:
    """The parser, with every command that there is."""
    top = argparse.ArgumentParser(prog="worklog", description="Working hours in text files.")
    found = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for module in pkgutil.iter_modules(commands.__path__):
        command = importlib.import_module(f"{commands.__name__}.{module.name}")
        if hasattr(command, "NAME"):
            one = found.add_parser(command.NAME, help=command.__doc__, description=command.__doc__)
            command.arguments(one)
            one.set_defaults(run=command.run)
    return top


def main(argv: list[str] | None = None) -> int:
    """Run one command; its exit status."""
    given = parser().parse_args(argv)
    try:
        return given.run(given, settings.load(Path.cwd()))
    except WorklogError as problem:
        sys.stdout.flush()
        print(f"worklog: {problem}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        return 0
