"""The rubrics that come with the program, and the file that a new one is begun from."""

from __future__ import annotations

from importlib import resources

_STARTER = resources.files("trialbook.storage").joinpath("starter")


def shipped_rubrics() -> dict[str, str]:
    """Every version that is shipped: its text by its path from a ledger's root down."""
    found = {}
    for rubric in _STARTER.joinpath("rubrics").iterdir():
        for version in rubric.iterdir():
            path = f"rubrics/{rubric.name}/{version.name}"
            found[path] = version.read_text(encoding="utf-8")
    return dict(sorted(found.items()))


def empty_rubric() -> str:
    """A rubric with one question, which passes the check as it is."""
    return _STARTER.joinpath("rubric", "v1.md").read_text(encoding="utf-8")
