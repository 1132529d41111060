"""Python source as a syntax tree, from several threads at once."""

from __future__ import annotations

import ast
import threading

# CPython 3.11 and 3.12 count the depth of a tree that is being made once for all threads, and
# raise SystemError where two of them are made at a time.
_ONE_AT_A_TIME = threading.Lock()


def syntax_tree(source: str | bytes) -> ast.Module:
    """The tree of a module.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: it is no Python, or too much of it.
    """
    with _ONE_AT_A_TIME:
        return ast.parse(source)
