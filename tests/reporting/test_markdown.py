from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from tests.recorded import HOSTILE

from trialbook.reporting.markdown import code, link, prose, table

FORGE = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=60)
MARKED = st.text(alphabet="`|\\ *_[]()<>#\n~!a-=1.", max_size=40)


def plain(html: str) -> str:
    return re.sub(r"<[^>]+>", "", html).replace("\n", "")


@given(st.one_of(ANY_TEXT, MARKED))
def test_prose_renders_as_text_alone(text: str) -> None:
    html = FORGE.render(f"x {prose(text)}")
    assert re.sub(r"</?p>", "", html).count("<") == 0, html


@given(st.one_of(ANY_TEXT, MARKED))
def test_prose_at_the_beginning_of_a_line_starts_nothing(text: str) -> None:
    html = FORGE.render(prose(text))
    assert set(re.findall(r"<(\w+)", html)) <= {"p"}, html


@given(st.one_of(ANY_TEXT, MARKED))
def test_code_is_one_code_span_also_in_a_table(text: str) -> None:
    html = FORGE.render(table(["head", "next"], [[code(text), "end"]]))
    assert html.count("<td>") == 2, html
    assert set(re.findall(r"<(\w+)", html)) <= {
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "code",
    }, html
    assert "<td>end</td>" in html


@pytest.mark.parametrize("how", [prose, code])
def test_hostile_text_is_inert(how: object) -> None:
    assert callable(how)
    html = FORGE.render(how(HOSTILE))
    assert "<script" not in html
    assert "<a " not in html
    assert "\x1b" not in html
    assert "\u202e" not in html


def test_addresses_in_prose_are_not_linked_by_a_forge() -> None:
    assert prose("see http://evil.example") == "see http:/\\/evil.example"
    assert "<a" not in FORGE.render(prose("see <http://evil.example>"))


def test_empty_and_blank_code_still_shows_something() -> None:
    assert code("") == "`(empty)`"
    assert code("  ") == "`\u00b7\u00b7`"


@given(st.one_of(ANY_TEXT, MARKED), st.one_of(ANY_TEXT, MARKED))
def test_a_link_leads_beside_the_document_and_holds_a_code_span(text: str, path: str) -> None:
    html = FORGE.render(f"- {link(text, path)} end")
    assert html.count("<a ") == 1, html
    assert re.search(r'<a href="\./[A-Za-z0-9_.~/%-]*"><code>', html), html


def test_a_link_is_no_address_elsewhere() -> None:
    assert link("x", "javascript:alert(1)") == "[`x`](./javascript%3Aalert%281%29)"
    assert link("a|b", "a b/c").endswith("](./a%20b/c)")
