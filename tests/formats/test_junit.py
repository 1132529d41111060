from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialbook.formats.junit import MOST_BYTES, ReportRefusedError, read_tests
from trialbook.formats.patch_lines import patch_lines

REPORT = b"""<testsuites><testsuite>
<testcase classname="tests.test_a" name="test_one"/>
<testcase classname="tests.test_a" name="test_two"><failure message="no">&lt;</failure></testcase>
<testcase classname="tests.test_a" name="test_three"><skipped/></testcase>
<testcase classname="tests.test_a" name="test_four"><system-out>x</system-out></testcase>
<testcase classname="" name="tests.test_b"><error/></testcase>
<testcase classname="tests.test_a" name="test_one"><failure/></testcase>
</testsuite></testsuites>"""


def test_tests_have_passed_failed_or_neither() -> None:
    assert read_tests(REPORT) == {
        "tests.test_a::test_one": False,
        "tests.test_a::test_two": False,
        "tests.test_a::test_three": None,
        "tests.test_a::test_four": True,
        "::tests.test_b": False,
    }


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not xml",
        b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>',
        b"<a>" * 60 + b"</a>" * 60,
        b" " * (MOST_BYTES + 1),
    ],
)
def test_a_report_that_cannot_be_used_is_refused(data: bytes) -> None:
    with pytest.raises(ReportRefusedError):
        read_tests(data)


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(ReportRefusedError):
        read_tests(data)
    with contextlib.suppress(ReportRefusedError):
        read_tests(REPORT.replace(b"test_two", data))


@given(st.binary(max_size=300))
def test_any_bytes_are_a_patch_or_none(data: bytes) -> None:
    for one in (
        data,
        b"diff --git a/x b/x\n" + data,
        b"diff --git a/x b/x\n--- a/x\n+++ b/x\n" + data,
    ):
        found = patch_lines(one)
        assert found is None or found.changed_lines >= 0


def test_lines_of_a_patch_stand_by_the_path_of_their_side() -> None:
    found = patch_lines(
        b"diff --git a/old.py b/new.py\nsimilarity index 80%\n"
        b"rename from old.py\nrename to new.py\n"
        b"--- a/old.py\n+++ b/new.py\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
    )
    assert found is not None
    assert found.added == {"new.py": [(2, "c\n")]}
    assert found.deleted == {"old.py": [(2, "b\n")]}
