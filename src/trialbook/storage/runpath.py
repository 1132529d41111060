"""Which paths may stand in the ledger, and the attributes that keep a run's bytes exact."""

from __future__ import annotations

import unicodedata

from trialbook.errors import Refused
from trialbook.model.ledgerfiles import records_folder
from trialbook.model.treepath import path_problem as tree_path_problem

RUN_ATTRIBUTES = b"""\
# Records are kept and shown byte for byte, whatever this clone or another folder configures:
# no line ends converted, no filters, no keywords; but diffs stay readable.
* -text -filter -ident -whitespace -export-subst !working-tree-encoding !diff
# The whole of a log that was cut: a pointer here, its content a Git LFS object.
*/*/r*/full/** filter=lfs diff=lfs merge=lfs
"""
"""The ``.gitattributes`` of a run's folder; part of the commit that adds the plan."""

_ATTRIBUTES_NAME = ".gitattributes"
_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_RUN_DEPTH = 3
_NAME_BYTES = 255


def path_problem(path: str) -> str | None:
    """Why a path cannot stand in the ledger, in words, or None.

    A path is relative to the ledger's root and lies in a run (``runs/<suite>/<run>/...``), or is
    one that `trialbook.model.ledgerfiles` knows. Names are what git takes on every platform:
    nothing that begins with ``.git``, no backslash, no character that cannot be seen.
    """
    plain = path.isascii() and path.isprintable()
    if not plain and any(unicodedata.category(char) in _HIDDEN for char in path):
        return "has a character that cannot be seen"
    if problem := tree_path_problem(path.encode()):
        return problem
    parts = path.split("/")
    names = parts[:-1] if _is_run_attributes(parts) else parts
    rules = {
        "is not inside of a run (runs/<suite>/<run>/...)": (
            (parts[0] == "runs" and len(parts) > _RUN_DEPTH) or records_folder(path) is not None
        ),
        "has a backslash": "\\" not in path,
        f"has a name of more than {_NAME_BYTES} bytes": (
            len(path) * 4 <= _NAME_BYTES or all(len(part.encode()) <= _NAME_BYTES for part in parts)
        ),
        "has a name that git treats in its own way": (
            "git" not in path.casefold()
            or not any(name.casefold().startswith((".git", "git~")) for name in names)
        ),
    }
    return next((problem for problem, kept in rules.items() if not kept), None)


def checked_path(path: str, data: bytes) -> bytes:
    """The path as git writes it.

    Raises:
        Refused: the path cannot stand in the ledger, or the attributes of a run are not ours.
    """
    problem = path_problem(path)
    if problem is None and _is_run_attributes(path.split("/")) and data != RUN_ATTRIBUTES:
        problem = "holds other attributes than those of every run"
    if problem is not None:
        raise Refused(f"{path!r} cannot be written to the ledger: it {problem}")
    return path.encode()


def run_folder(path: bytes) -> bytes:
    """What a checked path belongs to: the run ``runs/<suite>/<run>``, or a folder of records."""
    if not path.startswith(b"runs/"):
        return path.rpartition(b"/")[0]
    return b"/".join(path.split(b"/")[:_RUN_DEPTH])


def _is_run_attributes(parts: list[str]) -> bool:
    return len(parts) == _RUN_DEPTH + 1 and parts[-1] == _ATTRIBUTES_NAME
