from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialbook.errors import Problem
from trialbook.formats.authored import parse_document, parse_nodes, read_document
from trialbook.formats.document import Document

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**15), 10**15) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=20,
)


def parse(text: str) -> Any:
    document, problems = parse_document(text, "a.yaml")
    assert problems == []
    assert document is not None
    return document.data


def only(text: str, name: str = "a.yaml") -> Problem:
    _, problems = parse_document(text, name, json_form=name.endswith(".json"))
    assert len(problems) == 1, problems
    return problems[0]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("1", 1),
        ("-7", -7),
        ("1.50", 1.5),
        ("1e3", 1000.0),
        ("true", True),
        ("false", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("'1'", "1"),
        ('"true"', "true"),
        ("yes", "yes"),
        ("No", "No"),
        ("on", "on"),
        ("True", "True"),
        ("010", "010"),
        ("0o10", "0o10"),
        ("0x1F", "0x1F"),
        ("1_000", "1_000"),
        ("1:30", "1:30"),
        (".5", ".5"),
        (".inf", ".inf"),
        (".nan", ".nan"),
        ("1e999", "1e999"),
        ("2026-11-30", "2026-11-30"),
        ("0" * 40, "0" * 40),
        ("9" * 40, "9" * 40),
        ("v1.0", "v1.0"),
        ("{a: [1, x]}", {"a": [1, "x"]}),
        ("|\n  two\n  lines", "two\nlines\n"),
        (">-\n  one\n  line", "one line"),
        ("plain\n  folded", "plain folded"),
    ],
)
def test_a_scalar_is_what_it_looks_like(written: str, meant: object) -> None:
    value = parse(f"key: {written}\n")["key"]
    assert value == meant
    assert type(value) is type(meant)


def test_every_value_knows_its_place_and_its_key() -> None:
    text = "# comment\na: 1\nb:\n  - x\n  - {c: 2, d:   'three'}\ne:\nf: [1,\n  2]\n"
    document, _ = parse_document(text, "a.yaml")
    assert document is not None
    assert document.position(("a",)) == (2, 4)
    assert document.position(("b", 0)) == (4, 5)
    assert document.position(("b", 1, "d")) == (5, 17)
    assert document.key_position(("b", 1, "d")) == (5, 12)
    assert document.position(("f", 1)) == (8, 3)
    assert document.position(("e",)) == (6, 1)
    assert document.position(()) == (2, 1)
    assert document.position(("b", 7, "zzz")) == (4, 3)


def test_columns_count_characters_and_not_bytes() -> None:
    document, _ = parse_document("{ä: 'ö', key: 1}\n", "a.yaml")
    assert document is not None
    assert document.position(("key",)) == (1, 15)


@pytest.mark.parametrize(
    ("written", "column"), [("one two", 7 + 4), ("'one two'", 7 + 5), ("'it''s x'", 7)]
)
def test_a_place_inside_text_is_found_where_text_is_written_as_it_is(
    written: str, column: int
) -> None:
    document, _ = parse_document(f"name:  {written}\n", "a.yaml")
    assert document is not None
    assert document.position(("name",), offset=4) == (1, column + 1)


def test_all_mistakes_of_form_are_reported_at_once() -> None:
    text = "a: 1\na: 2\nb: !!str 3\n1: x\n<<: {c: 1}\n? [k]\n: v\nnull: 1\n"
    document, problems = parse_document(text, "a.yaml")
    assert [str(problem) for problem in problems] == [
        "a.yaml:2:1: the key `a` is here twice; it is already on line 1",
        "a.yaml:3:4: tags are not supported; remove it; use quotes to make text",
        'a.yaml:4:1: the key `1` is not text; write "1" in quotes',
        "a.yaml:5:1: merge keys (`<<`) are not supported; write the keys out",
        "a.yaml:6:3: a key must be text",
        'a.yaml:8:1: the key `null` is not text; write "null" in quotes',
    ]
    assert document is not None
    assert document.data["a"] == 1


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("", 0, 0, "empty"),
        ("# only a comment\n", 0, 0, "empty"),
        ("a:\n\tb: 1\n", 2, 1, "not with tabs"),
        ("a: b: c\n", 1, 5, "in quotes"),
        ("a: [1, 2\n", 2, 1, "not closed"),
        ("a: 'x\n", 2, 1, "not closed"),
        ("a: @x\n", 1, 4, "in quotes"),
        ("a: 1\n b: 2\n", 2, 3, "indents"),
        ("a: 1\n---\nb: 2\n", 2, 1, "second document"),
        ("%YAML 1.1\n---\na: 1\n", 2, 1, "1.2"),
        ("a: *gone\n", 1, 4, "unknown"),
        ("a: &x [*x]\n", 1, 8, "inside what it names"),
        ("a: b\x07c\n", 1, 5, "U+0007"),
        # The parser lets plain Python errors through for these.
        ('a: "\\U0011FFFF"\n', 0, 0, "not YAML"),
        ("%YAML 1.21\n---\na: 1\n", 0, 0, "not YAML"),
        ("[" * 60 + "]" * 60, 1, 51, "levels deep"),
    ],
)
def test_what_is_not_yaml_is_reported_with_its_place(
    text: str, line: int, column: int, words: str
) -> None:
    problem = only(text)
    assert (problem.line, problem.column) == (line, column)
    assert words in str(problem)


def test_anchors_and_aliases_work() -> None:
    assert parse("a: &x {b: 1}\nc: [*x, *x]\n") == {"a": {"b": 1}, "c": [{"b": 1}, {"b": 1}]}


def test_an_alias_stands_where_it_was_written() -> None:
    document, _ = parse_document("a: &x {b: 1}\nc: *x\n", "a.yaml")
    assert document is not None
    assert document.position(("c",)) == (2, 4)


def test_a_bomb_of_aliases_is_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    assert "repeated by aliases" in only("\n".join(lines)).message


def test_json_is_strict_and_has_places(tmp_path: Path) -> None:
    path = tmp_path / "expected.json"
    path.write_text('{\n\t"passed": ["a", 3],\n\t"smile": "\\ud83d\\ude00"\n}\n')
    document, problems = read_document(path, "expected.json")
    assert problems == []
    assert document is not None
    assert document.data == {"passed": ["a", 3], "smile": "\U0001f600"}
    assert document.position(("passed", 1)) == (2, 18)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('{"a": 1,}', 1, "not JSON"),
        ('{"a": NaN}', 0, "NaN"),
        ('{"a": 1e999}', 0, "1e999"),
        ('{\n"a": 1,\n"a": 2}', 3, "twice"),
        ("a: 1", 1, "not JSON"),
        ("[" * 100_000, 0, "not JSON"),
    ],
)
def test_json_mistakes_are_reported(text: str, line: int, words: str) -> None:
    problem = only(text, "a.json")
    assert problem.line == line
    assert words in problem.message


def test_files_that_cannot_be_read_are_problems_and_never_hang(tmp_path: Path) -> None:
    (tmp_path / "bytes.yaml").write_bytes(b"a: 1\nb: \xc3\xa4\xff\n")
    (tmp_path / "big.yaml").write_bytes(b"#" * 4_000_001)
    os.mkfifo(tmp_path / "pipe.yaml")

    def said(name: str) -> str:
        document, problems = read_document(tmp_path / name, name)
        assert document is None
        return str(problems[0])

    assert said("gone.yaml") == "gone.yaml: there is no such file"
    assert said(".") == ".: this is not a file"
    assert said("pipe.yaml") == "pipe.yaml: this is not a file"
    assert said("bytes.yaml") == "bytes.yaml:2:5: not UTF-8: byte 0xff; save the file as UTF-8"
    assert said("x" * 300).endswith(": cannot be read: File name too long")
    assert said("big.yaml") == "big.yaml: the file is larger than 4 MB"


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes("\ufeffa: 1\r\nb: |\r\n  x\r\n  y\r\nc: z\r\n".encode())
    document, problems = read_document(tmp_path / "a.yaml", "a.yaml")
    assert problems == []
    assert document is not None
    assert document.data == {"a": 1, "b": "x\ny\n", "c": "z"}
    assert document.position(("c",)) == (5, 4)


@given(
    st.text(
        alphabet=st.sampled_from("ab:-[]{}&*!|>'\"#%@` \n\t,?0~<\r\x85\u2028\ufeff"), max_size=40
    )
)
def test_any_text_gives_a_document_or_problems(text: str) -> None:
    document, problems = parse_document(text, "a.yaml")
    assert document is not None or problems
    for problem in problems:
        assert problem.line >= 0


@given(json_values)
def test_json_means_the_same_when_it_is_read_as_yaml(value: object) -> None:
    text = json.dumps({"value": value})
    as_json, _ = parse_document(text, "a.json", json_form=True)
    assert as_json is not None
    assert as_json.data == {"value": value}
    root, problems = parse_nodes("a.yaml", text)
    # Surrogate pairs are JSON's own; the rest of JSON is YAML.
    if "\\ud" not in text and '"<<"' not in text:
        assert problems == []
        assert root is not None
        assert root.plain() == {"value": value}


def test_json_that_yaml_cannot_hold_has_one_place_for_all() -> None:
    document, problems = parse_document('{\n"a\x7f": [1]}', "a.json", json_form=True)
    assert problems == []
    assert document is not None
    assert document.data == {"a\x7f": [1]}
    assert document.position(("a\x7f", 0)) == (1, 1)
    assert document.key_position(("a\x7f",)) == (1, 1)


def test_two_equal_keys_in_json_that_yaml_cannot_hold_are_still_found() -> None:
    assert "'a' is in one object twice" in only('{"a": 1, "a": "\x7f"}', "a.json").message


def test_a_document_says_a_problem_at_a_key_or_a_value() -> None:
    document, _ = parse_document("key: value\n", "a.yaml")
    assert isinstance(document, Document)
    assert str(document.problem(("key",), "no", "yes")) == "a.yaml:1:6: no; yes"
    assert str(document.problem(("key",), "no", key=True)) == "a.yaml:1:1: no"
