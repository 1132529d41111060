from __future__ import annotations

from pathlib import Path

import pytest
from tests.conftest import write_files

from trialbook.errors import UserError
from trialbook_pages.docs import DocsPages


def test_every_markdown_file_becomes_a_page_with_all_of_them_at_hand(tmp_path: Path) -> None:
    write_files(
        tmp_path / "site" / "pages",
        {
            "index.md": "---\ntitle: Start\n---\nHello.\n",
            "how-to/second.md": "---\ntitle: Second\norder: 2\n---\n",
            "how-to/first.md": "---\norder: 1\n---\n# `First` steps\n",
            "tutorial/run.md": "no title at all\n",
            "words.txt": "not a page\n",
        },
    )
    pages = list(DocsPages().pages(tmp_path))
    assert [(page.path, page.title) for page in pages] == [
        ("docs/index.html", "Start"),
        ("docs/tutorial/run.html", "run"),
        ("docs/how-to/first.html", "First steps"),
        ("docs/how-to/second.html", "Second"),
    ]
    assert [page.navigation for page in pages] == ["Docs", "", "", ""]
    assert [section["title"] for section in pages[0].context["contents"]] == [
        "",
        "Tutorial",
        "How to",
    ]
    assert [page.context["headed"] for page in pages] == [False, False, True, False]
    assert pages[0].context["source"] == "Hello.\n"


def test_a_ledger_without_prose_has_no_pages(tmp_path: Path) -> None:
    assert list(DocsPages().pages(tmp_path)) == []


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("---\ntitel: x\n---\n", "site/pages/a.md:2:1: unknown key 'titel'"),
        ("---\ntitle: x\norder: soon\n---\n", "site/pages/a.md:3:8: order: must be a whole number"),
        ("---\ntitle: 5\n---\n", "site/pages/a.md:2:8: title: must be text"),
        ("---\njust words\n---\n", "site/pages/a.md:1:1: the front matter must be"),
    ],
)
def test_a_mistake_in_the_front_matter_is_shown_where_it_is(
    tmp_path: Path, text: str, place: str
) -> None:
    write_files(tmp_path / "site" / "pages", {"a.md": text})
    with pytest.raises(UserError) as caught:
        list(DocsPages().pages(tmp_path))
    assert str(caught.value.problems[0]).startswith(place)


def test_a_page_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "site" / "pages"
    folder.mkdir(parents=True)
    (folder / "a.md").write_bytes(b"\xff")
    with pytest.raises(UserError, match="not UTF-8"):
        list(DocsPages().pages(tmp_path))
