"""The Atom feed (RFC 4287) of runs and decisions: what came last, with times from the records.

Ids follow from what an entry is about, so they stay when the site moves or is built again. Nothing
in the feed is the time of its making. Addresses are absolute where ``site.yaml`` says where the
site will be; else they are relative to the feed.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from markupsafe import Markup, escape

from trialbook import __version__
from trialbook.formats.visible import visible, visible_line
from trialbook.model.alarm import Alarm
from trialbook.reporting.brief import RunBrief
from trialbook.reporting.conclusion import Conclusion, conclusion_of
from trialbook.reporting.gates import OPEN, GateEntry
from trialbook.reporting.gates_said import side_said
from trialbook.reporting.wording import rate
from trialbook.site.addresses import FEED, GATES, OVERVIEW, run_page
from trialbook.site.ledger_view import LedgerView
from trialbook.site.settings import SiteSettings, load_settings
from trialbook.site.units import File
from trialbook.storage.reader import RunRef

ATOM = "http://www.w3.org/2005/Atom"
_ENTRIES = 50
_NEVER = "1970-01-01T00:00:00Z"
_IDS = uuid.UUID("6f9d3f0e-7d0c-5a8e-9d57-1f6a0b7b2c11")
# What no XML document may hold, besides what is made visible anyway.
_NO_XML = {0xFFFE: "\\ufffe", 0xFFFF: "\\uffff"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One entry: ``about`` is what its id is made from, ``page`` a path of the site.

    ``kinds`` are its categories. ``content`` is HTML made of escaped pieces.
    """

    about: str
    title: str
    published: str
    updated: str
    page: str
    kinds: tuple[str, ...]
    summary: str
    content: Markup


def feed_files(view: LedgerView, _: None) -> Iterator[File]:
    """The feed of the site."""
    yield File(FEED, feed(load_settings(view.root), list(feed_items(view)), _origin(view)))


def feed_items(view: LedgerView) -> list[Item]:
    """The newest runs that are over, gates that came to something, and what was found of them."""
    found: list[Item] = []
    for run in view.runs[::-1][: 2 * _ENTRIES]:
        brief = view.brief(run)
        if brief.closed:
            found.append(_of_run(brief, conclusion_of(view.reader, run)))
    for entry in view.gates[::-1][:_ENTRIES]:
        if entry.gate.verdict != OPEN:
            found.append(_of_gate(entry))
        found += [_of_alarm(entry, alarm) for alarm in entry.alarms]
    return sorted(found, key=lambda one: (one.updated, one.about), reverse=True)[:_ENTRIES]


def feed(settings: SiteSettings, items: list[Item], origin: str) -> bytes:
    """The document.

    Args:
        settings: The site's name, and where it will be.
        items: The entries, newest first.
        origin: What the feed's own id is made from.
    """
    root = ET.Element("feed", xmlns=ATOM)
    _text(root, "id", _id(origin))
    _text(root, "title", settings.title)
    if settings.description:
        _text(root, "subtitle", settings.description)
    _text(root, "updated", items[0].updated if items else _NEVER)
    _text(ET.SubElement(root, "author"), "name", settings.title)
    _link(root, "alternate", OVERVIEW, settings, "text/html")
    if settings.address:
        _link(root, "self", FEED, settings, "application/atom+xml")
    ET.SubElement(root, "generator", version=__version__).text = "trialbook"
    for item in items:
        root.append(_entry(item, settings))
    ET.indent(root)
    data: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return data + b"\n"


def _entry(item: Item, settings: SiteSettings) -> ET.Element:
    entry = ET.Element("entry")
    _text(entry, "id", _id(item.about))
    _text(entry, "title", item.title)
    _text(entry, "published", item.published)
    _text(entry, "updated", item.updated)
    _link(entry, "alternate", item.page, settings, "text/html")
    for kind in item.kinds:
        ET.SubElement(entry, "category", term=kind)
    _text(entry, "summary", item.summary)
    content = ET.SubElement(entry, "content", type="html")
    content.text = _xml(visible(str(item.content)))
    return entry


def _of_run(brief: RunBrief, concluded: Conclusion) -> Item:
    """A run: its numbers, and its answer to the decision."""
    name = f"{brief.suite}@{brief.protocol}"
    numbers = ", ".join(
        f"{row.name} {rate(row.counts.all_scheduled)}" for row in brief.configurations
    )
    rows = Markup("").join(
        Markup("<li>{}: {} accepted of scheduled, {} of valid executions</li>").format(
            visible_line(row.name),
            rate(row.counts.all_scheduled),
            rate(row.counts.valid_execution),
        )
        for row in brief.configurations
    )
    answer = concluded.answer
    title = f"{name}: {answer}" if concluded.verdict else f"{name}: {numbers}"
    kinds = [
        "run",
        *(["decision"] if concluded.verdict else []),
        *(["draft"] if brief.draft else []),
    ]
    return Item(
        about=f"run {brief.suite}/{brief.run} {brief.created}",
        title=title,
        published=brief.created,
        updated=brief.last or brief.created,
        page=run_page(brief.ref),
        kinds=tuple(kinds),
        summary=f"{answer} {numbers}".strip(),
        content=_paragraphs(brief.decision, answer)
        + Markup("<ul>{}</ul>").format(rows)
        + _paragraphs(concluded.needed, *concluded.waits, f"Run {brief.run}."),
    )


def _of_gate(entry: GateEntry) -> Item:
    gate = entry.gate
    sides = f"{side_said(gate.candidate)} against {side_said(gate.baseline)}"
    return Item(
        about=f"gate {gate.run} {gate.created}",
        title=f"Gate of {gate.suite}@{gate.protocol}: {gate.verdict}: {gate.reason}",
        published=gate.created,
        updated=gate.finished or gate.created,
        page=_page(gate.run),
        kinds=("gate", "decision"),
        summary=f"{gate.verdict}: {gate.reason}",
        content=_paragraphs(f"{sides}.", f"{gate.verdict}: {gate.reason}.", gate.advice),
    )


def _of_alarm(entry: GateEntry, alarm: Alarm) -> Item:
    gate = entry.gate
    return Item(
        about=f"alarm {alarm.id} {alarm.run}",
        title=f"Gate of {gate.suite}@{gate.protocol} was a {alarm.kind} alarm",
        published=alarm.created,
        updated=alarm.created,
        page=GATES,
        kinds=("alarm",),
        summary=alarm.because,
        content=_paragraphs(alarm.kind.meaning, alarm.because, alarm.author, f"Gate {gate.run}."),
    )


def _origin(view: LedgerView) -> str:
    """What names the ledger for good: its oldest run."""
    if not view.runs:
        return "ledger"
    brief = view.brief(view.runs[0])
    return f"ledger {brief.suite}/{brief.run} {brief.created}"


def _page(path: str) -> str:
    suite, _, run = path.partition("/")
    return run_page(RunRef(suite, run))


def _paragraphs(*texts: str) -> Markup:
    kept = (Markup("<p>{}</p>").format(escape(visible(text))) for text in texts if text)
    return Markup("").join(kept)


def _id(about: str) -> str:
    return uuid.uuid5(_IDS, about.encode("utf-8", "backslashreplace").decode()).urn


def _link(parent: ET.Element, rel: str, path: str, settings: SiteSettings, kind: str) -> None:
    ET.SubElement(parent, "link", rel=rel, type=kind, href=settings.absolute(path))


def _text(parent: ET.Element, name: str, text: str) -> None:
    ET.SubElement(parent, name).text = _xml(visible_line(text))


def _xml(text: str) -> str:
    return text.translate(_NO_XML)
