"""A packet as one HTML file: it opens from a disk, needs nothing else, and nothing in it acts."""

from __future__ import annotations

import base64
import hashlib
from importlib import resources
from pathlib import Path
from typing import Any

from markupsafe import Markup

from trialbook.api import Page
from trialbook.formats.records import plain
from trialbook.model.rubric import Rubric
from trialbook.review.packet import Material
from trialbook.site.diff.figure import Change
from trialbook.site.render import Renderer

_NOWHERE = Path("/dev/null/no-overrides")
_ROOM = (6_000, 300)
_SHEETS = ("style", "diff", "trial")
_ANSWERS = {True: "yes", False: "no", None: "unknown"}


def packet_page(packet: str, material: Material, rubric: Rubric) -> bytes:
    """The page of a packet.

    The theme of the program draws it, whatever a ledger's own templates are: they could load what
    the packet must not.
    """
    style = _style()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    context: dict[str, Any] = {
        "style": Markup(style),  # noqa: S704 - the program's own file
        "style_source": Markup(f"'sha256-{digest}'"),  # noqa: S704 - made here
        "packet": packet,
        "brief": material.brief,
        "diff": Change(material.files, room=_ROOM).figure(),
        "insertions": sum(file.insertions for file in material.files),
        "deletions": sum(file.deletions for file in material.files),
        "checks": [
            {
                "grader": one.grader,
                "checks": [
                    {**plain(check), "answer": _ANSWERS[check.passed]} for check in one.checks
                ],
            }
            for one in material.checks
        ],
        "taken": material.taken,
        "rubric": plain(rubric),
        "reference": rubric.reference,
    }
    page = Page(path="packet.html", template="packet.html", title=packet, context=context)
    return Renderer(_NOWHERE).render(page, {})


def _style() -> str:
    theme = resources.files("trialbook.site") / "theme" / "assets"
    return "".join((theme / f"{name}.css").read_text(encoding="utf-8") for name in _SHEETS)
