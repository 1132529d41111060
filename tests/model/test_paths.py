from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialbook.model.paths import path_to_text, text_to_path


@given(st.binary(min_size=1, max_size=40))
def test_every_path_comes_back(path: bytes) -> None:
    assert text_to_path(path_to_text(path)) == path


@given(st.binary(min_size=1, max_size=40))
def test_the_text_form_has_no_character_that_acts(path: bytes) -> None:
    text = path_to_text(path)
    assert (
        text.isprintable()
        or all(char.isprintable() or char == "\u3000" for char in text)
        or (not text.startswith('"'))
    )
    assert "\n" not in text
    assert "\x1b" not in text


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (b"src/a.py", "src/a.py"),
        ("日本語.txt".encode(), "日本語.txt"),
        (b"latin1_\xe9.txt", '"latin1_\\351.txt"'),
        (b"new\nline", '"new\\nline"'),
        (b'"quoted"', '"\\"quoted\\""'),
        ("right\u202eleft".encode(), '"right\\342\\200\\256left"'),
        (b"back\\slash", "back\\slash"),
    ],
)
def test_names_are_written_as_git_quotes_them(path: bytes, text: str) -> None:
    assert path_to_text(path) == text


@pytest.mark.parametrize("name", [b"tab\there", b"latin1_\xe9.txt", b"new\nline", b'q"uote\x07'])
def test_a_quoted_name_is_what_git_prints(tmp_path: Path, name: bytes) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (Path(str(tmp_path)) / name.decode("utf-8", "surrogateescape")).write_text("x")
    done = subprocess.run(
        ["git", "-C", str(tmp_path), "ls-files", "--others"], capture_output=True, check=True
    )
    assert done.stdout.decode().strip() == path_to_text(name)


@pytest.mark.parametrize("text", ['"', '"open'])
def test_a_broken_quoted_name_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="not a quoted path"):
        text_to_path(text)
