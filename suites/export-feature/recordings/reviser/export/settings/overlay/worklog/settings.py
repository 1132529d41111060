"""What `worklog.toml` says."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from worklog.errors import WorklogError
from worklog.export.columns import COLUMNS

FILE = "worklog.toml"
GROUPINGS = ("project", "day", "tag")
FORMATS = ("csv", "jsonl")


@dataclass(frozen=True)
class ReportSettings:
    """The defaults of `report`."""

    by: str = "project"
    depth: int = 1


@dataclass(frozen=True)
class ExportSettings:
    """The defaults of `export`."""

    format: str = "csv"
    columns: tuple[str, ...] = tuple(COLUMNS)


@dataclass(frozen=True)
class Settings:
    """Everything that may be set, and what holds if it is not."""

    log: Path = Path("logs")
    report: ReportSettings = field(default_factory=ReportSettings)
    export: ExportSettings = field(default_factory=ExportSettings)


def load(folder: Path) -> Settings:
    """The settings of a folder; the defaults if it has none."""
    path = folder / FILE
    if not path.is_file():
        return Settings()
    try:
        said = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as problem:
        raise WorklogError(str(problem), FILE) from None
    _only(said, ("log", "report", "export"), "")
    return Settings(
        log=folder / value(said, "log", str, "logs"),
        report=_report(section(said, "report")),
        export=_export(section(said, "export")),
    )


def section(said: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A table of the settings; an empty one if it is not there."""
    found = said.get(name, {})
    if not isinstance(found, dict):
        raise WorklogError(f"{name}: has to be a table", FILE)
    return found


def value(said: Mapping[str, Any], key: str, kind: type, default: Any, of: str = "") -> Any:
    """One value, of the kind it has to be."""
    found = said.get(key, default)
    if type(found) is not kind:
        raise WorklogError(f"{of}{key}: has to be {_KINDS[kind]}", FILE)
    return found


def one_of(known: tuple[str, ...], found: str, key: str) -> str:
    """A value that has to be one of a few."""
    if found not in known:
        raise WorklogError(f"{key}: {found!r} is none of {', '.join(known)}", FILE)
    return found


def _report(said: Mapping[str, Any]) -> ReportSettings:
    _only(said, ("by", "depth"), "report.")
    default = ReportSettings()
    depth = value(said, "depth", int, default.depth, "report.")
    if depth < 1:
        raise WorklogError("report.depth: has to be 1 or more", FILE)
    by = one_of(GROUPINGS, value(said, "by", str, default.by, "report."), "report.by")
    return ReportSettings(by=by, depth=depth)


def _export(said: Mapping[str, Any]) -> ExportSettings:
    _only(said, ("format", "columns"), "export.")
    default = ExportSettings()
    name = value(said, "format", str, default.format, "export.")
    columns = value(said, "columns", list, list(default.columns), "export.")
    return ExportSettings(one_of(FORMATS, name, "export.format"), tuple(columns))


def _only(said: Mapping[str, Any], known: tuple[str, ...], of: str) -> None:
    for key in said:
        if key not in known:
            raise WorklogError(f"{of}{key}: is not known; known: {', '.join(known)}", FILE)


_KINDS = {str: "text", int: "a whole number", list: "a list"}
