from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialbook.grading.judge_diff import show_diff

PATCH = b"""\
diff --git a/src/a.py b/src/a.py
index 1111111..2222222 100644
--- a/src/a.py
+++ b/src/a.py
@@ -1,4 +1,5 @@
 def total(items):
-    return sum(items)
+    # all of them
+    return  sum( item.price for item in items )

 CONSTANT = 1
@@ -10,1 +11,2 @@ def other():
 x = 1
+y = 2
diff --git a/logo.png b/logo.png
index 3333333..4444444 100644
GIT binary patch
literal 20
zcmb1PlHzjC0000000000000000000000000000000

literal 10
zcmb1PlHzjC000000000000000000000000

diff --git a/gone.txt b/gone.txt
deleted file mode 100644
index 5555555..0000000
--- a/gone.txt
+++ /dev/null
@@ -1,1 +0,0 @@
-bye
"""


@pytest.mark.parametrize(
    ("quote", "file", "line"),
    [
        ("    # all of them", "src/a.py", 2),
        ("+    # all of them", "src/a.py", 2),
        ("return sum( item.price for\n item in items )", "src/a.py", 3),
        ("# all of them\nreturn  sum(\titem.price", "src/a.py", 2),
        ("+    # all of them\n+    return sum( item.price", "src/a.py", 2),
        ("return sum(items)", "src/a.py", None),
        ("-    return sum(items)", "src/a.py", None),
        ("CONSTANT = 1", "src/a.py", 5),
        ("y = 2", "src/a.py", 12),
        ("bye", "gone.txt", None),
        ("deleted file mode 100644", "gone.txt", None),
    ],
)
def test_a_quote_is_found_where_it_stands(quote: str, file: str, line: int | None) -> None:
    spot = show_diff(PATCH).find(quote)
    assert spot is not None
    assert (spot.file, spot.line) == (file, line)


@pytest.mark.parametrize(
    "quote", ["", "   \n ", "m", "x =", "return sum(item)", "eval(input())", "y = 3", "zcmb1PlHzj"]
)
def test_a_quote_that_is_not_there_or_could_be_anywhere_is_not_found(quote: str) -> None:
    assert show_diff(PATCH).find(quote) is None


def test_the_data_of_binary_files_is_left_out_and_said_to_be() -> None:
    shown = show_diff(PATCH)
    assert shown.left_out == 1
    assert "zcmb1" not in shown.text
    assert "[the data of this binary file is not shown]" in shown.text
    assert "diff --git a/gone.txt b/gone.txt" in shown.text


def test_a_file_cannot_make_its_own_lines_vanish_as_binary() -> None:
    patch = b"diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,1 +1,3 @@\n GIT binary patch\n"
    patch += b"+GIT binary patch\n+hidden()\n"
    assert "+hidden()" in show_diff(patch).text


def test_what_acts_is_shown_as_an_escape_and_can_be_quoted_so() -> None:
    patch = "diff --git a/a b/a\n@@ -0,0 +1,2 @@\n+ok\u202e evil\n+line\r\n".encode()
    shown = show_diff(patch + b"+\xff\xfe\x1b[2J\n")
    assert "\u202e" not in shown.text
    assert "\x1b" not in shown.text
    assert shown.find("ok\\u202e evil") is not None
    assert shown.find("line") is not None  # without its carriage return


def test_lines_without_anything_do_not_hide_a_quote_that_spans_them() -> None:
    patch = b"diff --git a/a b/a\n@@ -0,0 +1,3 @@\n+first line\n+\n+third line\n"
    assert show_diff(patch).find("first line\n\nthird line") is not None


def test_where_a_hunk_begins_bears_nothing_out() -> None:
    patch = b"diff --git a/a b/a\n@@ -1,3 +1,3 @@ def f():\n+@@ -1,3 +1,3 @@ mine\n"
    assert show_diff(patch).find("@@ -1,3 +1,3 @@ def f():") is None
    # What looks like it and is a line of the file can be quoted.
    assert show_diff(patch).find("@@ -1,3 +1,3 @@ mine") is not None


@given(st.binary(max_size=400))
def test_any_bytes_can_be_shown_and_quoted(data: bytes) -> None:
    shown = show_diff(data)
    shown.find(data.decode("utf-8", "replace"))
    for line in shown.lines:
        if len("".join(line.content.split())) > 8:
            assert shown.find(line.content) is not None
