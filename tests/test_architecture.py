"""The shape of the program: who may import whom, one door each, and how large things may be."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest

ROOT = Path(__file__).resolve().parents[1]
CORE = ROOT / "src" / "trialbook"
PLUGINS = ROOT / "plugins"

# What a room may import of the program, besides itself. Order: from the bottom to the top.
LEAVES = {"model", "errors", "environment", "system"}
PURE = LEAVES | {"formats", "stats"}
SEAMS = PURE | {"process", "api", "registry"}
STORED = SEAMS | {"storage"}
ROOMS = STORED | {"egress", "execution", "grading", "reporting", "review", "verify"}
ALLOWED = {
    "model": set(),
    "errors": set(),
    "environment": set(),
    "system": {"environment"},
    "supervision": {"model"},
    "supervisor": {"supervision"},
    "stats": LEAVES,
    "formats": LEAVES,
    "process": LEAVES | {"supervision"},
    "api": PURE,
    "registry": PURE | {"api"},
    "egress": LEAVES,
    "testing": SEAMS | {"egress", "supervision"},
    "storage": SEAMS,
    "execution": STORED | {"egress", "supervision"},
    "grading": STORED,
    "reporting": STORED,
    "review": STORED,
    "verify": STORED,
    "site": STORED | {"reporting", "review"},
    "workflow": ROOMS | {"site"},
    "cli": ROOMS | {"site", "workflow"},
}

# A library or a part of the outside world, and the modules that may import it.
DOORS = {
    "subprocess": {"trialbook.process"},
    "dulwich": {"trialbook.storage.repository"},
    "ruamel": {"trialbook.formats.authored"},
    "jinja2": {"trialbook.site.render"},
    "markdown_it": {"trialbook.site.render"},
    "random": set(),
    "secrets": {"trialbook.system"},
    "time": {"trialbook.system", "trialbook.supervision.watch"},
    "msgspec": {"trialbook.formats.records"},
    "pandas": {"trialbook.reporting.frame"},
    "kingfisher_sdk": {"trialbook.storage.scanner"},
}
RICH = "trialbook.cli."
PLUGIN_IMPORTS = {"trialbook.api", "trialbook.testing"}

LONGEST_MODULE = 400
LONGEST_FUNCTION = 60
MOST_PARAMETERS = 6


def modules() -> list[tuple[str, Path]]:
    found = []
    for base in (CORE.parent, PLUGINS):
        for path in sorted(base.rglob("*.py")):
            name = ".".join(path.relative_to(base).with_suffix("").parts)
            found.append((name.removesuffix(".__init__"), path))
    return found


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            module = node.module or ""
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)


def room(name: str) -> str:
    return name.split(".")[1] if "." in name else ""


MODULES = modules()
IDS = [name for name, _ in MODULES]


@pytest.mark.parametrize(("name", "path"), MODULES, ids=IDS)
def test_a_module_imports_only_what_lies_below_it(name: str, path: Path) -> None:
    wrong = set()
    for target in imports(path):
        if not target.startswith("trialbook.") or target == "trialbook.__version__":
            continue
        if name.startswith("trialbook"):
            here, there = room(name), room(target)
            if name.startswith("trialbook_"):
                if not any(target == ok or target.startswith(f"{ok}.") for ok in PLUGIN_IMPORTS):
                    wrong.add(target)
            elif here in ALLOWED and there != here and there not in ALLOWED[here]:
                wrong.add(target)
    assert not wrong, f"{name} may not import {sorted(wrong)}"


@pytest.mark.parametrize(("name", "path"), MODULES, ids=IDS)
def test_a_door_has_one_importer(name: str, path: Path) -> None:
    wrong = set()
    for target in imports(path):
        top = target.split(".")[0]
        if top in DOORS and name not in DOORS[top] and not name.startswith("trialbook_"):
            wrong.add(target)
        if top == "rich" and not name.startswith(RICH):
            wrong.add(target)
    assert not wrong, f"{name} must go through the door for {sorted(wrong)}"


@pytest.mark.parametrize(("name", "path"), MODULES, ids=IDS)
def test_only_the_system_reads_clock_and_environment(name: str, path: Path) -> None:
    if name in {"trialbook.environment", "trialbook.system"}:
        return
    wrong = [
        node.lineno
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
        and (
            (node.attr in {"environ", "getenv", "urandom"} and _is_name(node.value, "os"))
            or (
                node.attr in {"now", "utcnow", "today"} and _is_name(node.value, "datetime", "date")
            )
        )
    ]
    assert not wrong, f"{name}: lines {wrong}"


@pytest.mark.parametrize(("name", "path"), MODULES, ids=IDS)
def test_modules_and_functions_stay_small(name: str, path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LONGEST_MODULE, name
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            assert node.end_lineno is not None
            length = node.end_lineno - node.lineno + 1
            assert length <= LONGEST_FUNCTION, f"{name}.{node.name} has {length} lines"


def test_the_median_module_is_small() -> None:
    sizes = [len(path.read_text(encoding="utf-8").splitlines()) for _, path in MODULES]
    assert median([size for size in sizes if size > 10]) <= 180


def test_every_module_says_what_it_owns() -> None:
    for name, path in MODULES:
        doc = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
        assert doc, name


def _is_name(node: ast.expr, *names: str) -> bool:
    return isinstance(node, ast.Name) and node.id in names
