import pytest

from rotor.config import Rule, load
from rotor.errors import RotorError


def read(tmp_path, text):
    (tmp_path / "rotor.ini").write_text(text)
    return load(tmp_path / "rotor.ini")


def test_a_section_is_a_rule(tmp_path):
    (rule,) = read(tmp_path, "[app]\npath = a.log\nsize = 2k\nkeep = 5\n")
    assert rule == Rule("app", tmp_path / "a.log", 2048, 5)


def test_three_generations_are_kept_if_nothing_is_said(tmp_path):
    (rule,) = read(tmp_path, "[app]\npath = a.log\nsize = 2k\n")
    assert rule.keep == 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[app]\nsize = 1k\n", "rotor.ini: [app]: path is missing"),
        ("[app]\npath = a\n", "rotor.ini: [app]: size is missing"),
        ("[app]\npath = a\nsize = big\n", "rotor.ini: [app]: size: 'big' is no size"),
        ("[app]\npath = a\nsize = 1\nkeep = 0\n", "rotor.ini: [app]: keep: '0' is no number from 1"),
        ("[app]\npath = a\nsize = 1\ncolour = red\n", "rotor.ini: [app]: colour is not known"),
        ("[a]\npath = x\nsize = 1\n[b]\npath = x\nsize = 1\n", "rotor.ini: [b]: has the path of [a]"),
    ],
)
def test_a_mistake_is_told_with_its_place(tmp_path, text, said):
    with pytest.raises(RotorError) as caught:
        read(tmp_path, text)
    assert str(caught.value).startswith(said)


def test_a_file_that_is_not_there_is_a_mistake(tmp_path):
    with pytest.raises(RotorError, match="cannot be read"):
        load(tmp_path / "none.ini")
