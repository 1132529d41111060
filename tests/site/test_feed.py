from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit
from xml.etree import ElementTree as ET

import pytest
from markupsafe import Markup
from tests.recorded import HOSTILE, drift_run, full_ledger, new_ledger, record_run
from tests.site.conftest import build

from trialbook.errors import UserError
from trialbook.site.feed import ATOM, Item, feed
from trialbook.site.settings import SiteSettings, load_settings

NAMES = {"a": ATOM}
DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
ONCE = {"id", "title", "updated"}
FEED = ONCE | {"subtitle", "author", "link", "generator", "entry"}
ENTRY = ONCE | {"published", "link", "category", "summary", "content"}


def checked(data: bytes) -> ET.Element:
    """The document, if it keeps to what RFC 4287 asks of a feed and of its entries."""
    root = ET.fromstring(data)
    assert root.tag == f"{{{ATOM}}}feed"
    _element(root, FEED)
    assert root.findtext("a:author/a:name", namespaces=NAMES)
    entries = root.findall("a:entry", NAMES)
    for entry in entries:
        _element(entry, ENTRY)
        [content] = entry.findall("a:content", NAMES)
        assert content.get("type") == "html"
        assert not list(content)
    ids = [one.text for one in root.iter(f"{{{ATOM}}}id")]
    assert len(ids) == len(set(ids))
    return root


def _element(element: ET.Element, allowed: set[str]) -> None:
    names = [child.tag.removeprefix(f"{{{ATOM}}}") for child in element]
    assert set(names) <= allowed
    for name in ONCE:
        assert names.count(name) == 1, name
    [identity] = element.findall("a:id", NAMES)
    assert urlsplit(identity.text or "").scheme == "urn"
    for name in ("updated", "published"):
        for date in element.findall(f"a:{name}", NAMES):
            assert DATE.fullmatch(date.text or ""), date.text
            datetime.fromisoformat(date.text or "")
    links = element.findall("a:link", NAMES)
    assert [one.get("rel") for one in links].count("alternate") == 1
    for one in links:
        assert one.get("href")
        assert set(one.keys()) <= {"rel", "href", "type"}
    for one in element.findall("a:category", NAMES):
        assert one.get("term")


def test_the_feed_of_a_hostile_ledger_is_valid_and_nothing_in_it_acts(site: Path) -> None:
    data = (site / "feed.xml").read_bytes()
    root = checked(data)
    assert len(root.findall("a:entry", NAMES)) == 2
    html = " ".join(one.text or "" for one in root.iter(f"{{{ATOM}}}content"))
    assert "<script" not in html
    assert "&lt;script&gt;" in html
    assert not re.search(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]", data)


def test_links_of_the_feed_lead_to_pages(site: Path) -> None:
    root = checked((site / "feed.xml").read_bytes())
    for link in root.iter(f"{{{ATOM}}}link"):
        assert (site / (link.get("href") or "")).is_file()


def test_every_page_names_the_feed(site: Path) -> None:
    for path in site.rglob("*.html"):
        assert 'type="application/atom+xml"' in path.read_text(), path


def test_with_an_address_links_are_whole_and_the_feed_names_itself(tmp_path: Path) -> None:
    root = full_ledger(tmp_path / "ledger")
    (root / "site").mkdir(exist_ok=True)
    build(root, tmp_path / "before")
    (root / "site" / "site.yaml").write_text("address: https://evals.example/ours\n")
    build(root, tmp_path / "out")
    found = checked((tmp_path / "out/feed.xml").read_bytes())
    links = {one.get("rel"): one.get("href") for one in found.findall("a:link", NAMES)}
    assert links == {
        "alternate": "https://evals.example/ours/",
        "self": "https://evals.example/ours/feed.xml",
    }
    one = found.find("a:entry/a:link", NAMES)
    assert one is not None
    assert (one.get("href") or "").startswith("https://evals.example/ours/runs/")
    before = checked((tmp_path / "before/feed.xml").read_bytes())
    ids = [[one.text for one in root.iter(f"{{{ATOM}}}id")] for root in (before, found)]
    assert ids[0] == ids[1]


def test_times_come_from_records_and_ids_stay_when_something_is_added(tmp_path: Path) -> None:
    root = new_ledger(tmp_path / "ledger")
    build(root, tmp_path / "empty")
    empty = checked((tmp_path / "empty/feed.xml").read_bytes())
    assert empty.findtext("a:updated", namespaces=NAMES) == "1970-01-01T00:00:00Z"
    record_run(root, *drift_run())
    build(root, tmp_path / "out")
    found = checked((tmp_path / "out/feed.xml").read_bytes())
    assert found.findtext("a:updated", namespaces=NAMES) == "2026-11-30T15:16:04.500Z"
    entry = found.find("a:entry", NAMES)
    assert entry is not None
    assert "baseline 9/9 (100.0 %)" in (entry.findtext("a:title", namespaces=NAMES) or "")


def test_any_text_makes_a_valid_feed() -> None:
    item = Item(
        about=f"run {HOSTILE}\ud800",
        title=f"{HOSTILE}\x00\ufffe",
        published="2026-11-30T15:15:26.123Z",
        updated="2026-11-30T15:15:26.123Z",
        page="runs/a/b/index.html",
        kinds=("run",),
        summary=HOSTILE,
        content=Markup("<p>{}</p>").format(HOSTILE),
    )
    checked(feed(SiteSettings(title=HOSTILE, description=HOSTILE), [item], "ledger"))


@pytest.mark.parametrize(
    "address", ["evals.example", "ftp://x/", "https://x/?q", "https://x/#a", 'https://x/"', "''"]
)
def test_what_is_no_address_is_told_with_its_place(tmp_path: Path, address: str) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site/site.yaml").write_text(f"address: {address}\n")
    with pytest.raises(UserError) as caught:
        load_settings(tmp_path)
    assert str(caught.value.problems[0]).startswith("site/site.yaml:1:")
