"""Where to look in all that a series changed: copies, what nothing names, new dependencies."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from trialbook.formats.patch_lines import PatchLines
from trialbook.grading.python_source import syntax_tree
from trialbook.grading.tampering.look import is_test, text_of
from trialbook.model.paths import path_to_text
from trialbook.model.series_record import WholeChange
from trialbook.stats.clones import Clone, cloned_share, clones
from trialbook.storage.repository import Store

_CODE = re.compile(r".*\.(?:py|pyi|[cm]?[jt]sx?|go|rb|rs|java|kt|cs|swift|php|exs?|c|cc|cpp|h|sh)")
_REQUIREMENTS = re.compile(r"requirements[^/]*\.(?:txt|in)")
_WORD = re.compile(r"\w+")
_MOST = 20
_MOST_BYTES = 20_000_000
_JSON_KEYS = ("dependencies", "devDependencies", "peerDependencies", "optionalDependencies")


def whole_change(store: Store, base: str, final: str, lines: PatchLines | None) -> WholeChange:
    """The hints about a change.

    Args:
        store: Where both trees are.
        base: What the agents' work is seen against.
        final: What it left.
        lines: The lines of the change; None if it cannot be read.
    """
    if lines is None:
        trouble = "the change cannot be read, or is too large"
        return WholeChange(tree=final, base=base, trouble=trouble)
    texts, left = _texts(store, final)
    code = {path: text for path, text in texts.items() if is_code(path)}
    added = {path: found for path, found in lines.added_numbers.items() if path in code}
    found = clones(code, added)
    inside, total = cloned_share(found, added)
    return WholeChange(
        tree=final,
        clones=tuple(_places(one, final) for one in found[:_MOST]),
        cloned_lines=inside,
        added_lines=total,
        unused=tuple(_at(place, final) for place in _unused(code, texts, added))[:_MOST],
        dependencies=tuple(_at(place, final) for place in _dependencies(store, base, texts, lines))[
            :_MOST
        ],
        trouble=left,
        base=base,
    )


def is_code(path: str) -> bool:
    """Whether a path is one of code, tests left out."""
    return bool(_CODE.fullmatch(path)) and not is_test(path)


def _texts(store: Store, tree: str) -> tuple[dict[str, str], str]:
    found: dict[str, str] = {}
    read = 0
    for path, entry in store.walk(tree):
        if entry.mode not in (0o100644, 0o100755):
            continue
        data = text_of(store.blob(entry.oid))
        if data is None:
            continue
        read += len(data)
        if read > _MOST_BYTES:
            return found, f"only the first {_MOST_BYTES // 1_000_000} MB were looked at"
        found[path_to_text(path)] = data.decode("utf-8", "replace")
    return found, ""


def _at(place: str, tree: str) -> str:
    return f"{place}@{tree[:12]}"


def _places(one: Clone, tree: str) -> tuple[str, str]:
    return (
        _at(f"{one.first}:{one.first_line}-{one.first_end}", tree),
        _at(f"{one.second}:{one.second_line}-{one.second_end}", tree),
    )


def _unused(
    code: Mapping[str, str], texts: Mapping[str, str], added: Mapping[str, frozenset[int]]
) -> Iterator[str]:
    """Added functions and classes of Python whose name stands nowhere but where they are made."""
    counts: dict[str, int] = {}
    for text in texts.values():
        for word in _WORD.findall(text):
            counts[word] = counts.get(word, 0) + 1
    for path, numbers in sorted(added.items()):
        if not path.endswith(".py"):
            continue
        try:
            tree = syntax_tree(code[path])
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        for node in ast.walk(tree):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                continue
            special = node.name.startswith("__") or node.decorator_list
            if not special and node.lineno in numbers and counts.get(node.name, 0) < 2:  # noqa: PLR2004 - itself
                yield f"{path}:{node.lineno}"


def _dependencies(
    store: Store, base: str, texts: Mapping[str, str], lines: PatchLines
) -> Iterator[str]:
    for path, added in sorted(lines.added.items()):
        name = PurePosixPath(path).name
        if _REQUIREMENTS.fullmatch(name):
            yield from (
                f"{path}:{number}"
                for number, line in added
                if line.strip() and not line.lstrip().startswith(("#", "-"))
            )
        elif name in ("pyproject.toml", "package.json") and path in texts:
            entry = store.lookup(path.encode("utf-8", "surrogateescape"), base)
            before = "" if entry is None else store.blob(entry.oid).decode("utf-8", "replace")
            new = _declared(name, texts[path]) - _declared(name, before)
            yield from (
                f"{path}:{number}" for number, line in added if any(one in line for one in new)
            )


def _declared(name: str, text: str) -> set[str]:
    """The dependencies that a file declares, each as it is written there."""
    try:
        data = tomllib.loads(text) if name == "pyproject.toml" else json.loads(text or "{}")
    except (ValueError, RecursionError):
        return set()
    if not isinstance(data, dict):
        return set()
    if name == "package.json":
        return {key for part in _JSON_KEYS for key in _mapping(data.get(part))}
    project = _mapping(data.get("project"))
    lists: list[Any] = [project.get("dependencies")]
    lists += _mapping(project.get("optional-dependencies")).values()
    lists += _mapping(data.get("dependency-groups")).values()
    return set(_strings(lists))


def _mapping(value: Any) -> dict[str, Any]:  # noqa: ANN401 - any value of a file
    return value if isinstance(value, dict) else {}


def _strings(lists: Iterable[Any]) -> Iterator[str]:
    for one in lists:
        yield from (item for item in one if isinstance(item, str)) if isinstance(one, list) else ()
