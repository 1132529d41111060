from __future__ import annotations

from pathlib import Path

import pytest
from tests.conftest import git
from tests.recorded import drift_run, new_ledger, record_run

from trialbook.registry import Registry
from trialbook.site.build import BuildOptions, SiteSummary, build_site
from trialbook.site.links import LinkCheck, links_of
from trialbook.storage.reader import Reader


def build(root: Path, output: Path, cache: Path) -> SiteSummary:
    options = BuildOptions(cache=cache)
    return build_site(root, Reader.open(root), output, registry=Registry(), options=options)


@pytest.mark.parametrize(
    ("page", "target"),
    [
        ('<a href="b.html">', "a/b.html"),
        ('<a href="../b.html#place">', "b.html#place"),
        ('<a class="x"\n   href="c/../b.html?x=1">', "a/b.html"),
        ('<img src="x%20y.svg" alt="">', "a/x y.svg"),
        ('<a href="&quot;.html">', 'a/".html'),
        ('<a href="#gone">', "a/page.html#gone"),
        ('<a href="page.html#gone">', "a/page.html#gone"),
        ('<a href="..">', "."),
    ],
)
def test_a_link_is_found_with_where_it_leads(page: str, target: str) -> None:
    assert links_of("a/page.html", page.encode()) == (target,)


@pytest.mark.parametrize(
    "page",
    [
        '<a href="https://example.org/">',
        '<a href="mailto:a@example.org">',
        '<img src="data:,">',
        '<a href="//example.org">',
        '<a href="#main"><main id="main">',
        '<a href="#caf%C3%A9"><h2 id="café">',
        '<a href="#top">',
        "<p>&lt;a href=&#34;x.html&#34;&gt;",
    ],
)
def test_what_leads_out_of_the_site_or_is_on_the_page_is_no_question(page: str) -> None:
    assert links_of("a/page.html", page.encode()) == ()


def test_only_pages_have_links() -> None:
    assert links_of("assets/site.js", b' href="x"') == ()


def test_a_link_leads_to_a_file_and_to_a_place_in_it(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<p id="there">')
    (tmp_path / "b.csv").write_text("")
    check = LinkCheck(tmp_path, {"a.html", "b.csv"})
    links = {"p.html": ["a.html", "a.html#there", "a.html#gone", "b.csv#x", "c.html"]}
    assert check.broken(links) == [("p.html", "a.html#gone"), ("p.html", "c.html")]


def test_a_link_of_a_template_that_leads_nowhere_is_told_until_it_is_mended(
    tmp_path: Path,
) -> None:
    root, site, cache = new_ledger(tmp_path / "ledger"), tmp_path / "site", tmp_path / "cache"
    record_run(root, *drift_run())
    template = root / "site/templates/glossary.html"
    template.parent.mkdir(parents=True)
    template.write_text(
        '{% extends "theme/glossary.html" %}{% block main %}{{ super() }}'
        '<a href="gone.html">x</a><a href="#nowhere">y</a>{% endblock %}'
    )
    said = {
        "glossary.html: a link leads to gone.html, which the site does not have",
        "glossary.html: a link leads to glossary.html#nowhere, which the site does not have",
    }
    assert set(map(str, build(root, site, cache).problems)) == said
    kept = build(root, site, cache)
    assert kept.made == 0
    assert set(map(str, kept.problems)) == said
    template.unlink()
    assert build(root, site, cache).problems == ()


def test_pages_that_were_kept_are_named_when_what_they_lead_to_goes_away(tmp_path: Path) -> None:
    root, site, cache = new_ledger(tmp_path / "ledger"), tmp_path / "site", tmp_path / "cache"
    before = git(root, "rev-parse", "HEAD").strip()
    record_run(root, *drift_run())
    pages = root / "site/pages"
    pages.mkdir(parents=True)
    target = f"runs/{drift_run()[0].path}/index.html"
    (pages / "index.md").write_text(f"# Ours\n\n[a run](../{target})\n")
    assert build(root, site, cache).problems == ()
    git(root, "reset", "-q", "--soft", before)
    (told,) = build(root, site, cache).problems
    assert (told.path, target in told.message) == ("docs/index.html", True)


def test_a_place_that_is_gone_from_another_page_is_told(tmp_path: Path) -> None:
    root, site, cache = new_ledger(tmp_path / "ledger"), tmp_path / "site", tmp_path / "cache"
    pages = root / "site/pages"
    pages.mkdir(parents=True)
    (pages / "index.md").write_text("# Ours\n\n[a part](more.md#a-part)\n")
    (pages / "more.md").write_text("# More\n\n## A part\n")
    assert build(root, site, cache).problems == ()
    (pages / "more.md").write_text("# More\n\n## Another part\n")
    (told,) = build(root, site, cache).problems
    assert "docs/more.html#a-part" in str(told)
