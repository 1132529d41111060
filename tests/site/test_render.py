from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.recorded import HOSTILE

from trialbook.api import Page
from trialbook.errors import UserError
from trialbook.site.render import Renderer, marked


def draw(folder: Path, template: str, **context: object) -> str:
    (folder / "t.html").write_text(template)
    page = Page(path="a/b.html", template="t.html", title="T", context=context)
    return Renderer(folder).render(page, {}).decode()


def markdown(text: str) -> str:
    return str(Renderer(Path("nowhere")).markdown(text))


def test_every_value_is_escaped_and_made_visible_wherever_it_is_printed(tmp_path: Path) -> None:
    html = draw(tmp_path, '<p title="{{ x }}">{{ x }}</p>', x=f'"{HOSTILE}')
    assert "<script" not in html
    assert "{{ 7*7 }}" in html
    assert "\x1b" not in html
    assert html.count('"') == 2


def test_a_value_that_is_missing_is_an_error_and_not_an_empty_place(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="'x' is undefined"):
        draw(tmp_path, "{{ x }}")


def test_links_know_the_page_they_are_on(tmp_path: Path) -> None:
    assert draw(tmp_path, "{{ href('index.html') }}") == "../index.html"


def test_marked_text_shows_what_acts_as_such() -> None:
    assert marked("a\x1b<b>") == 'a<span class="acting">\\x1b</span>&lt;b&gt;'


@pytest.mark.parametrize(
    "source",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](java\nscript:alert(1))",
        "[x](&#106;avascript:alert(1))",
        "[x](data:text/html,<script>alert(1)</script>)",
        "[x](vbscript:x)",
        "[x](file:///etc/passwd)",
        "[x](//evil.example/x)",
        "[x](/absolute)",
        "[x](\\\\evil\\share)",
        "<javascript:alert(1)>",
        "![x](javascript:alert(1))",
        "![x](data:image/svg+xml,x)",
        "[x]: javascript:alert(1)\n\n[x]",
    ],
)
def test_markdown_takes_no_html_and_no_unsafe_link(source: str) -> None:
    html = markdown(source)
    assert "<script" not in html
    assert "<img" not in html
    assert "<a " not in html


def test_markdown_links_to_pages_and_to_the_web() -> None:
    html = markdown("[a](../c.md#part) [b](https://example.org/x.md) [c](#here)")
    assert 'href="../c.html#part"' in html
    assert 'href="https://example.org/x.md" rel="noreferrer"' in html
    assert 'href="#here"' in html


def test_a_picture_from_elsewhere_is_not_asked_for() -> None:
    html = markdown("![a view](https://evil.example/pixel.png)")
    assert "evil.example" not in html
    assert 'alt="a view"' in html


def test_headings_have_anchors_of_their_own() -> None:
    html = markdown("# One *two*\n\n# One two\n\n# ???\n\n## Über `x`")
    assert '<h1 id="one-two">' in html
    assert '<h1 id="one-two-2">' in html
    assert '<h1 id="section">' in html
    assert '<h2 id="über-x">' in html


@given(st.text(alphabet="`|\\ *_[]()<>#\n~!a-=1.&;:/\"'", max_size=80))
def test_no_markdown_makes_an_attribute_that_acts(source: str) -> None:
    html = markdown(source)
    assert "<script" not in html
    assert " on" not in html or "onerror" not in html


def test_tables_of_markdown_scroll_in_a_box_and_have_no_styles_of_their_own() -> None:
    html = markdown("| a | b |\n| ---: | :---: |\n| 1 | 2 |\n")
    assert 'style="' not in html
    assert '<th class="align-right">a</th>' in html
    assert '<td class="align-center">2</td>' in html
    assert html.startswith('<div class="scroll" role="group"')
    assert html.endswith("</table>\n</div>\n")


def test_quoted_markdown_stays_below_its_heading_and_takes_no_anchor_of_the_page() -> None:
    source = "# Checks\n\n###### Deep\n\n[up](#checks) [out](https://a.example/b.md#b)\n"
    html = str(Renderer(Path("nowhere")).markdown(source, 2))
    assert "<h3>Checks</h3>" in html
    assert "<h6>Deep</h6>" in html
    assert " id=" not in html
    assert "<a>up</a>" in html
    assert 'href="https://a.example/b.md#b"' in html


def test_quoted_markdown_names_no_file_since_it_is_from_elsewhere() -> None:
    source = "[a](README.md) ![b](../../../etc/hostname) [c](?d) ![e](f/g.png 'h')"
    html = str(Renderer(Path("nowhere")).markdown(source, 2))
    assert "<a>a</a>" in html
    assert "href" not in html
    assert html.count('src="data:,"') == html.count("src=") == 2


@pytest.mark.parametrize("address", ["../../etc/x.png", "%2e%2e/x.png", "a/../../x.png"])
def test_an_image_of_prose_names_no_file_outside_the_site(address: str) -> None:
    assert 'src="data:,"' in markdown(f"![the alternative]({address})")
    assert 'src="pictures/x.png"' in markdown("![the alternative](pictures/x.png)")
