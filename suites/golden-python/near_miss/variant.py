"""Makes, in the working directory, another right fix: the one of a task's private/variant.md.

usage: variant.py TASK

For the tasks where that takes few words of the snapshot. Edits are made as in near_miss.py, which
lies beside this file.
"""

from __future__ import annotations

import sys

from near_miss import Draft, Edit, make


def attrs_nested_disabled(draft: Draft) -> None:
    """Remembers what was set before, and sets it again."""
    path = "src/attr/validators.py"
    draft.replace(path, "set_run_validators(False)", "before = get_disabled()\n    set_disabled(True)")
    draft.replace(path, "set_run_validators(True)", "set_disabled(before)")


def boltons_iset_slice(draft: Draft) -> None:
    """Slices a list, turned around first for a negative step."""
    draft.replace_span(
        "boltons/setutils.py",
        "iterable = self\n",
        "return islice(iterable, start, stop, step)",
        "items = list(self)\n"
        "        if step is not None and step < 0:\n"
        "            items, step = items[::-1], -step\n"
        "        return iter(items[start:stop:step])",
    )


def more_itertools_last_reversed(draft: Draft) -> None:
    """Looks the method up on the type, where ``None`` says that there is none."""
    draft.replace(
        "more_itertools/more.py",
        "if hasattr(iterable, '__reversed__'):",
        "if callable(getattr(type(iterable), '__reversed__', None)):",
    )


def packaging_marker_parens(draft: Draft) -> None:
    """Unwraps in a loop, and so keeps the ``first`` that was given."""
    path = "src/packaging/markers.py"
    wrapped = "if (\n        isinstance(marker, list)\n"
    draft.replace(path, wrapped, wrapped.replace("if", "while", 1))
    draft.replace(path, "return _format_marker(marker[0])", "marker = marker[0]")


def structlog_styles_copy(draft: Draft) -> None:
    """Builds a dictionary of its own with the bright levels."""
    draft.replace_span(
        "src/structlog/dev.py",
        "for key in level_to_color:",
        "level_to_color[key] += styles.bright",
        "level_to_color = {\n"
        "            level: code + styles.bright\n"
        "            for level, code in level_to_color.items()\n"
        "        }",
    )


def tomli_loads_type(draft: Draft) -> None:
    """Asks for the type before anything else is done."""
    statement = r'src = __s.replace("\r\n", "\n")'
    draft.replace(
        "src/tomli/_parser.py",
        statement,
        "if not isinstance(__s, str):\n"
        "        name = type(__s).__qualname__\n"
        "        raise TypeError(f\"Expected str object, not '{name}'\")\n"
        f"    {statement}",
    )


EDITS: dict[str, Edit] = {
    "attrs-nested-disabled": attrs_nested_disabled,
    "boltons-iset-slice": boltons_iset_slice,
    "more-itertools-last-reversed": more_itertools_last_reversed,
    "packaging-marker-parens": packaging_marker_parens,
    "structlog-styles-copy": structlog_styles_copy,
    "tomli-loads-type": tomli_loads_type,
}


if __name__ == "__main__":
    sys.exit(make("variant.py", EDITS, sys.argv[1:]))
