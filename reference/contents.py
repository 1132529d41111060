"""The page in ``runs/`` that says what each run of the reference ledger is there for."""

from __future__ import annotations

from pathlib import Path

from reference.clone import Clone

PAGE = "runs/README.md"
_HEAD = Path(__file__).parent / "readme.md"
_MESSAGE = "Say what each run of the reference ledger is there for"


def write_contents(clone: Clone) -> None:
    """Commit the page; what was said of runs that were there before stays."""
    page = clone.folder / PAGE
    before = page.read_text().splitlines() if page.exists() else []
    rows = [line for line in before if line.startswith("| [")]
    rows += [
        f"| [{path}]({_report(clone.folder, path)}) | {about} |"
        for path, about in sorted(clone.told.items(), key=lambda one: one[0].partition("/")[2])
    ]
    table = ["| run | what it is |", "| --- | --- |", *rows]
    page.write_text(_HEAD.read_text() + "\n".join(table) + "\n")
    clone.git("add", PAGE)
    clone.git("commit", "--quiet", "-m", _MESSAGE, "--", PAGE)


def _report(root: Path, run: str) -> str:
    """The newest report of a run: one that was made again after corrections, if there is one."""
    again = sorted((root / "runs" / run / "results").glob("*/report.md"))
    return again[-1].relative_to(root / "runs").as_posix() if again else f"{run}/report.md"
