from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from tests.recorded import drift_run

from trialbook.api import Page
from trialbook.model.trial import CutFile
from trialbook.site.render import Renderer
from trialbook.site.trial.files import TrialFiles
from trialbook.site.trial.texts import shown_texts, text_pages
from trialbook.storage.reader import RunRef

PATH = "sessions/1/attempt-1/stdout.txt"


def files_with(data: bytes, *cut: CutFile) -> TrialFiles:
    _, bundles = drift_run()
    trial = replace(bundles[0].record, cut=cut)
    return TrialFiles(trial=trial, grades=(), patch=None, texts={PATH: data})


def pages_of(data: bytes) -> list[Page]:
    return list(text_pages(RunRef("s", "r"), files_with(data)))


def test_what_fits_is_on_the_page_of_the_trial_and_nowhere_else() -> None:
    files = files_with(b"done\n")
    [log] = shown_texts(RunRef("s", "r"), files)["logs"]
    assert (log["text"]["head"], log["page"]) == ("done\n", "")
    assert pages_of(b"done\n") == []


def test_a_long_log_has_a_beginning_an_end_and_pages_with_every_line(tmp_path: Path) -> None:
    data = b"".join(b"line %d\n" % number for number in range(1, 4001))
    [log] = shown_texts(RunRef("s", "r"), files_with(data))["logs"]
    assert log["text"]["hidden"] > 0
    assert log["text"]["tail"].endswith("line 4000\n")
    pages = pages_of(data)
    assert log["page"] == pages[0].path
    assert pages[0].path.endswith("/r1/sessions/1/attempt-1/stdout.txt.html")
    site = {"title": "x", "navigation": [], "version": "1"}
    html = "".join(Renderer(tmp_path / "x").render(page, site).decode() for page in pages)
    found = re.findall(r'<div id="l(\d+)"><a [^>]*>\d+</a><code>line (\d+)</code>', html)
    assert [(int(one), int(other)) for one, other in found] == [(n, n) for n in range(1, 4001)]


def test_one_line_of_ten_megabytes_is_folded_and_said_to_be() -> None:
    [page] = pages_of(b"a" * 10_000_000)
    assert page.context["folded"] == 1
    assert len(page.context["lines"]) < 10_000
    assert "9998000 more characters" in page.context["lines"]


def test_lines_beyond_all_measure_are_counted() -> None:
    pages = pages_of(b"x\n" * 100_000)
    assert pages[0].context["hidden"] == 40_000
    assert len(pages) == 40


def test_what_acts_in_a_log_is_shown() -> None:
    [page] = pages_of(b"\x1b[31mred\x1b[0m \x1b]0;t\x07 \x00 \xe2\x80\xae <script>\n" * 1000)
    line = page.context["lines"].partition("\n")[0]
    assert "red" in line
    assert "\x1b" not in line
    assert "\\x00" in line
    assert "\\u202e" in line
    assert "&lt;script&gt;" in line


def test_a_cut_log_says_how_to_get_the_whole() -> None:
    cut = CutFile(path=PATH, bytes=5_000_000, sha256="0" * 64, full="full/stdout.txt")
    [log] = shown_texts(RunRef("s", "r"), files_with(b"x", cut))["logs"]
    assert log["cut"]["size"] == "5.0 MB"
    assert log["cut"]["command"].endswith("full/stdout.txt | git lfs smudge")
