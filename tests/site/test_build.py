from __future__ import annotations

import os
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from tests.conftest import trialbook
from tests.recorded import drift_run, new_ledger, record_run
from tests.site.conftest import build

from trialbook.errors import UserError
from trialbook.formats.visible import visible

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'"
)


class Page(HTMLParser):
    """What matters of a page: tags, attributes, links, ids."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text_of_scripts = ""
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text_of_scripts += data if self.tags and self.tags[-1][0] == "script" else ""

    def handle_endtag(self, tag: str) -> None:
        self.tags.append((f"/{tag}", {}))

    @property
    def links(self) -> list[str]:
        return [
            value
            for _, attributes in self.tags
            for name, value in attributes.items()
            if name in {"href", "src"} and value is not None
        ]

    @property
    def ids(self) -> set[str]:
        return {attributes["id"] or "" for _, attributes in self.tags if "id" in attributes}


def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in sorted(site.rglob("*.html"))}


def everything(site: Path) -> dict[str, bytes]:
    return {
        path.relative_to(site).as_posix(): path.read_bytes()
        for path in sorted(site.rglob("*"))
        if path.is_file()
    }


def test_every_link_leads_to_a_file_and_a_place_in_it(site: Path) -> None:
    found = pages(site)
    assert len(found) > 30
    for path, page in found.items():
        for link in page.links:
            parts = urlsplit(link)
            assert not parts.scheme, f"{path}: {link}"
            assert not parts.netloc, f"{path}: {link}"
            assert not link.startswith("/"), f"{path}: {link}"
            name = unquote(parts.path)
            target = Path(os.path.normpath(path.parent / name)) if name else path
            assert target.is_file(), f"{path}: {link}"
            assert target.is_relative_to(site)
            if parts.fragment:
                assert parts.fragment in found[target].ids, f"{path}: {link}"


def test_every_page_has_the_strict_policy_and_nothing_that_it_would_forbid(site: Path) -> None:
    for path, page in pages(site).items():
        metas = [a for tag, a in page.tags if tag == "meta"]
        policies = [a["content"] for a in metas if a.get("http-equiv") == "Content-Security-Policy"]
        assert policies == [POLICY], path
        names = {tag for tag, _ in page.tags}
        assert not names & {"style", "iframe", "object", "embed", "form", "base", "img"}
        sources = [a.get("src") or "" for tag, a in page.tags if tag == "script"]
        assert [source.rpartition("/")[2] for source in sources] == [
            "theme.js",
            "search.js",
            "site.js",
        ], path
        assert page.text_of_scripts == "", path
        for tag, attributes in page.tags:
            risky = [n for n in attributes if n == "style" or n.startswith("on")]
            assert not risky, f"{path}: <{tag} {risky}>"


def test_the_policy_stands_before_anything_that_loads(site: Path) -> None:
    for path in site.rglob("*.html"):
        text = path.read_text()
        assert text.index("Content-Security-Policy") < text.index("<link")


def test_nothing_that_acts_is_left_in_any_page(site: Path) -> None:
    for path in site.rglob("*.html"):
        text = path.read_bytes().decode("utf-8")
        assert visible(text) == text, path


def test_hostile_text_is_shown_as_it_is_and_never_rendered(site: Path) -> None:
    text = (site / "runs/hostile/20261202-080000-bbbb/task/evil/r1.html").read_text()
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "{{ 7*7 }}" in text
    assert "49" not in re.sub(r"[0-9a-f]{40,}", "", text)
    assert '<span class="acting">\\u202e</span>' in text
    assert "&lt;img src=x onerror=alert(1)&gt;" in text


def test_files_of_an_agent_are_not_served_as_they_are(site: Path) -> None:
    names = {
        path.suffix
        for path in site.rglob("*")
        if path.is_file() and ".trialbook-site" not in path.parts
    }
    assert names == {".html", ".css", ".js", ".svg", ".csv", ".json", ".xml"}
    assert all(path.is_relative_to(site / "assets") for path in site.rglob("*.js"))
    assert not [path for path in site.rglob("*.html") if b"alert(3)</script>" in path.read_bytes()]


def test_the_same_ledger_gives_the_same_bytes(
    recorded_ledger: Path, site: Path, tmp_path: Path
) -> None:
    build(recorded_ledger, tmp_path / "again")
    assert everything(tmp_path / "again") == everything(site)


def test_building_again_writes_nothing(recorded_ledger: Path, site: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in site.rglob("*.html")}
    summary = build(recorded_ledger, site)
    assert (summary.written, summary.removed) == (0, 0)
    assert {path: path.stat().st_mtime_ns for path in site.rglob("*.html")} == before


def test_pages_that_are_no_longer_made_are_removed_and_others_files_are_not(
    recorded_ledger: Path, site: Path
) -> None:
    (site / "CNAME").write_text("evals.example\n")
    (recorded_ledger / "site/pages/how-to/a.md").unlink()
    (recorded_ledger / "site/pages/index.md").write_text("# Pages\n")
    summary = build(recorded_ledger, site)
    assert summary.removed == 1
    assert not (site / "docs/how-to").exists()
    assert (site / "docs/index.html").is_file()
    assert (site / "CNAME").read_text() == "evals.example\n"


def test_a_folder_with_other_things_in_it_is_refused(recorded_ledger: Path, tmp_path: Path) -> None:
    folder = tmp_path / "precious"
    folder.mkdir()
    (folder / "thesis.txt").write_text("years of work")
    with pytest.raises(UserError, match="not a site that trialbook built"):
        build(recorded_ledger, folder)
    assert [path.name for path in folder.iterdir()] == ["thesis.txt"]


def test_a_damaged_list_of_files_cannot_make_a_build_delete_elsewhere(
    recorded_ledger: Path, site: Path, tmp_path: Path
) -> None:
    victim = tmp_path / "victim.txt"
    victim.write_text("here")
    (site / ".trialbook-site.json").write_text(f'{{"files": ["../victim.txt", "{victim}"]}}')
    (site / ".trialbook-site/files.txt").write_text(f"../victim.txt\n{victim}\n")
    build(recorded_ledger, site)
    assert victim.read_text() == "here"
    (site / ".trialbook-site.json").write_text("nonsense")
    with pytest.raises(UserError, match="cannot be read"):
        build(recorded_ledger, site)


def test_a_link_of_a_prose_page_that_leads_nowhere_is_reported(
    recorded_ledger: Path, tmp_path: Path
) -> None:
    (recorded_ledger / "site/pages/index.md").write_text("[gone](how-to/gone.md)\n![x](a.png)\n")
    summary = build(recorded_ledger, tmp_path / "out")
    targets = [problem.message for problem in summary.problems]
    assert len(targets) == 2
    assert "docs/how-to/gone.html" in targets[1]


def test_a_ledger_overrides_one_template_and_keeps_the_others(tmp_path: Path) -> None:
    root = new_ledger(tmp_path / "ledger")
    record_run(root, *drift_run())
    templates = root / "site" / "templates"
    templates.mkdir(parents=True)
    (templates / "suite.html").write_text(
        '{% extends "base.html" %}{% block main %}<p>Ours: {{ suite }}</p>{% endblock %}'
    )
    build(root, tmp_path / "out")
    assert (
        "<p>Ours: instruction-drift</p>"
        in (tmp_path / "out/suites/instruction-drift/index.html").read_text()
    )
    assert "Newest runs" in (tmp_path / "out/index.html").read_text()


@pytest.mark.parametrize(
    ("template", "message"),
    [("{{ nowhere.to }}", "'nowhere' is undefined"), ("{% if %}", "Expected an expression")],
)
def test_a_faulty_template_is_named_with_what_is_wrong(
    tmp_path: Path, template: str, message: str
) -> None:
    root = new_ledger(tmp_path / "ledger")
    (root / "site" / "templates").mkdir(parents=True)
    (root / "site" / "templates" / "index.html").write_text(template)
    with pytest.raises(UserError, match=message):
        build(root, tmp_path / "out")


def test_a_ledger_without_runs_has_a_site_that_says_how_to_begin(tmp_path: Path) -> None:
    root = new_ledger(tmp_path / "ledger")
    summary = build(root, tmp_path / "out")
    text = (tmp_path / "out" / "index.html").read_text()
    assert "trialbook eval instruction-drift" in text
    assert summary.problems == ()


def test_the_settings_name_the_site(tmp_path: Path) -> None:
    root = new_ledger(tmp_path / "ledger")
    (root / "site").mkdir()
    (root / "site" / "site.yaml").write_text("title: Shop & <co>\ndescription: Ours.\n")
    build(root, tmp_path / "out")
    assert (
        "<title>Results · Shop &amp; &lt;co&gt;</title>"
        in (tmp_path / "out/index.html").read_text()
    )
    (root / "site" / "site.yaml").write_text("titel: Shop\n")
    with pytest.raises(UserError) as caught:
        build(root, tmp_path / "out")
    assert str(caught.value.problems[0]).startswith("site/site.yaml:1:1: ")


def test_the_id_of_a_check_is_there_even_where_its_question_holds_it(ledger: Path) -> None:
    for checks in ledger.glob("suites/mini/tasks/*/checks.yaml"):
        checks.write_text(checks.read_text().replace("id: answered", "id: answer"))
    trialbook(ledger, "eval", "mini", "-t", "first", "-r", "1")
    trialbook(ledger, "site", "build")
    [run] = (ledger / "site/_build/runs/mini").iterdir()
    shown = '<span class="mono quiet">answer</span>'
    question = "Is there an answer?"
    for page in (run / "index.html", run / "first/good/r1.html"):
        text = page.read_text()
        assert question in text, page
        assert shown in text.partition(question)[2][:100], page


def test_the_last_step_of_the_way_to_a_page_is_followed_by_no_slash(site: Path) -> None:
    sheet = site / "assets/style.css"
    assert ".crumbs li:not(:last-child)::after" in sheet.read_text()
