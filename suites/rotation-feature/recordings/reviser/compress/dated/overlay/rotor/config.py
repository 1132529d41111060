"""What `rotor.ini` says."""

import configparser
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rotor.errors import RotorError
from rotor.sizes import parse_size

FILE = "rotor.ini"
DEFAULTS = "defaults"

_BUILT_IN = {"keep": "3", "compress": "yes", "level": "6"}


@dataclass(frozen=True)
class Rule:
    """How one log is looked after; `size` is in bytes."""

    name: str
    path: Path
    size: int
    keep: int = 3
    compress: bool = True
    level: int = 6


def load(path: Path) -> list[Rule]:
    """The rules of a file, in its order."""
    parser = configparser.ConfigParser(interpolation=None, default_section="")
    try:
        with path.open(encoding="utf-8") as lines:
            parser.read_file(lines, source=path.name)
    except OSError as problem:
        raise RotorError(f"cannot be read: {problem.strerror}", str(path)) from None
    except configparser.Error as problem:
        raise RotorError(str(problem).splitlines()[0]) from None
    defaults = dict(parser[DEFAULTS]) if parser.has_section(DEFAULTS) else {}
    where = f"{path.name}: [{DEFAULTS}]"
    _known(defaults, tuple(_BUILT_IN), where)
    defaults = {**_BUILT_IN, **defaults}
    _shared(defaults, where)
    rules = [
        _rule(name, {**defaults, **parser[name]}, path)
        for name in parser.sections()
        if name != DEFAULTS
    ]
    seen: dict[Path, str] = {}
    for rule in rules:
        if rule.path in seen:
            raise RotorError(f"has the path of [{seen[rule.path]}]", f"{path.name}: [{rule.name}]")
        seen[rule.path] = rule.name
    return rules


def _rule(name: str, said: Mapping[str, str], file: Path) -> Rule:
    where = f"{file.name}: [{name}]"
    _known(said, ("path", "size", *_BUILT_IN), where)
    for key in ("path", "size"):
        if not said.get(key):
            raise RotorError(f"{key} is missing", where)
    try:
        size = parse_size(said["size"])
    except RotorError as problem:
        raise RotorError(f"size: {problem}", where) from None
    keep, compress, level = _shared(said, where)
    return Rule(name, file.parent / said["path"], size, keep, compress, level)


def _known(said: Mapping[str, str], known: tuple[str, ...], where: str) -> None:
    for key in said:
        if key not in known:
            raise RotorError(f"{key} is not known; known: {', '.join(known)}", where)


def _shared(said: Mapping[str, str], where: str) -> tuple[int, bool, int]:
    """What a section and `[defaults]` may both say, checked: keep, compress and level."""
    if said["compress"] not in ("yes", "no"):
        raise RotorError(f"compress: {said['compress']!r} is neither yes nor no", where)
    return (
        whole(said["keep"], "keep", range(1, 1000), where),
        said["compress"] == "yes",
        whole(said["level"], "level", range(1, 10), where),
    )


def whole(text: str, key: str, among: range, where: str) -> int:
    """A whole number that has to be among some."""
    if not (text.isascii() and text.isdigit() and int(text) in among):
        least, most = among[0], among[-1]
        raise RotorError(f"{key}: {text!r} is no number from {least} to {most}", where)
    return int(text)
