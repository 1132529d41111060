from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from trialbook_graders.junit import REPORT_LIMIT, ReportError, parse_report, read_report


def outcomes(xml: str) -> dict[str, str]:
    return {test.id: test.outcome for test in parse_report(xml.encode())}


def test_every_outcome_is_told_apart() -> None:
    assert outcomes(
        """<?xml version="1.0" encoding="utf-8"?>
        <testsuites><testsuite name="pytest">
          <testcase classname="t" name="good"><system-out>hello</system-out></testcase>
          <testcase classname="t" name="bad"><failure message="assert">x</failure></testcase>
          <testcase classname="t" name="broken"><error message="fixture"/></testcase>
          <testcase classname="t" name="skip"><skipped type="pytest.skip"/></testcase>
          <testcase classname="t" name="xfail"><skipped type="pytest.xfail"/></testcase>
          <testcase classname="t" name="again"><rerunFailure/></testcase>
          <testcase classname="t" name="props"><properties><property/></properties></testcase>
        </testsuite></testsuites>"""
    ) == {
        "t::good": "passed",
        "t::bad": "failed",
        "t::broken": "error",
        "t::skip": "skipped",
        "t::xfail": "skipped",
        "t::again": "rerunFailure",
        "t::props": "passed",
    }


def test_a_status_attribute_that_is_no_success_counts() -> None:
    found = outcomes(
        '<testsuite><testcase classname="c" name="a" status="notrun"/>'
        '<testcase classname="c" name="b" status="run"/></testsuite>'
    )
    assert found == {"c::a": "notrun", "c::b": "passed"}


def test_repeated_tests_are_all_kept() -> None:
    tests = parse_report(
        b'<testsuite><testcase classname="c" name="a"/>'
        b'<testcase classname="c" name="a"><failure/></testcase></testsuite>'
    )
    assert [test.outcome for test in tests] == ["passed", "failed"]


def test_what_a_failure_says_is_kept_and_clipped() -> None:
    [test] = parse_report(
        b'<testsuite><testcase classname="c" name="a"><failure message="why">'
        + b"line\n" * 5000
        + b"</failure></testcase></testsuite>"
    )
    assert test.text.startswith("why\nline")
    assert len(test.text) <= 2000


@pytest.mark.parametrize(
    "xml",
    [
        "",
        "not xml",
        "<testsuite>",
        "<html></html>",
        "<!DOCTYPE x><testsuite/>",
        '<!DOCTYPE x [<!ENTITY a "b">]><testsuite>&a;</testsuite>',
        '<!DOCTYPE x SYSTEM "file:///etc/passwd"><testsuite/>',
        '<?xml version="1.0" encoding="no-such"?><testsuite/>',
        '<testsuite><testcase name="a" name="b"/></testsuite>',
        "<testsuite>" + "<a>" * 100 + "</a>" * 100 + "</testsuite>",
        "<testsuite/><testsuite/>",
    ],
)
def test_anything_that_is_no_plain_report_is_refused(xml: str) -> None:
    with pytest.raises(ReportError):
        parse_report(xml.encode())


def test_entities_are_not_expanded() -> None:
    bomb = '<!DOCTYPE b [<!ENTITY a0 "ha">' + "".join(
        f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 12)
    )
    began = time.monotonic()
    with pytest.raises(ReportError, match="document type"):
        parse_report(f"{bomb}]><testsuite>&a11;</testsuite>".encode())
    assert time.monotonic() - began < 2


def test_nested_test_cases_do_not_hide_a_failure() -> None:
    assert outcomes(
        '<testsuite><testcase classname="c" name="a"><testcase classname="c" name="b"/>'
        "</testcase></testsuite>"
    ) == {"c::a": "testcase"}


def test_a_report_is_a_regular_file_of_bounded_size(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("<testsuite/>")
    link = tmp_path / "link.xml"
    link.symlink_to(secret)
    pipe = tmp_path / "pipe.xml"
    os.mkfifo(pipe)
    folder = tmp_path / "folder.xml"
    folder.mkdir()
    large = tmp_path / "large.xml"
    with large.open("wb") as file:
        file.truncate(REPORT_LIMIT + 1)
    for path, why in [
        (link, "no regular file"),
        (pipe, "no regular file"),
        (folder, "no regular file"),
        (large, "larger"),
        (tmp_path / "none.xml", "no report"),
    ]:
        with pytest.raises(ReportError, match=why):
            read_report(path)
