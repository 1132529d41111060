"""The glossary: one source, words once, and cross-references that lead to words."""

from __future__ import annotations

from trialbook.site.addresses import word_anchor
from trialbook.site.glossary import GROUPS, glossary_page, words_document

WORDS = [word for _, words in GROUPS for word in words]


def test_no_word_is_explained_twice() -> None:
    anchors = [word_anchor(word.term) for word in WORDS]
    titles = [word_anchor(title) for title, _ in GROUPS]
    assert len({*anchors, *titles}) == len(anchors) + len(titles)


def test_words_to_read_beside_a_word_are_words_too() -> None:
    terms = {word.term for word in WORDS}
    for word in WORDS:
        assert set(word.see) <= terms - {word.term}, word.term


def test_the_page_and_the_docs_say_the_same() -> None:
    document = words_document()
    groups = glossary_page().context["groups"]
    for group in groups:
        assert f"## {group['title']}\n" in document
        for word in group["words"]:
            assert f"| {word['term']} | {word['means']} |\n" in document


def test_a_meaning_is_one_clause_without_a_full_stop() -> None:
    for word in WORDS:
        assert word.means == word.means.strip().removesuffix("."), word.term
        assert "|" not in word.means
