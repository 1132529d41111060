"""Makes, in the working directory, the wrong fix that a task's private/near_miss.md describes.

usage: near_miss.py TASK

Each edit names a text that the snapshot has exactly once. Standard library only.
"""

from __future__ import annotations

import sys
from pathlib import Path

STATEMENT = 'src = __s.replace("\\r\\n", "\\n")'
REVERSED = """\
        # Work around https://bugs.python.org/issue38525
        if hasattr(iterable, '__reversed__'):
            return next(reversed(iterable))
"""
BRIGHT = """\
        for key in level_to_color:
            level_to_color[key] += styles.bright
"""
EDITS = {
    "tomli-loads-type": (
        "src/tomli/_parser.py",
        (
            STATEMENT,
            f"try:\n        {STATEMENT}\n    except (AttributeError, TypeError):\n"
            "        name = type(__s).__qualname__\n"
            "        raise TypeError(f\"Expected str object, not '{name}'\")",
        ),
    ),
    "more-itertools-last-reversed": ("more_itertools/more.py", (REVERSED, "")),
    "structlog-styles-copy": ("src/structlog/dev.py", (BRIGHT, "")),
}


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or arguments[0] not in EDITS:
        print(f"usage: near_miss.py TASK\ntasks: {', '.join(EDITS)}", file=sys.stderr)
        return 2
    name, *edits = EDITS[arguments[0]]
    path = Path(name)
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    for old, new in edits:
        if text.count(old) != 1:
            print(f"{name}: {old!r} is there {text.count(old)} times, not once", file=sys.stderr)
            return 1
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
