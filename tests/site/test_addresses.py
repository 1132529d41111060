from __future__ import annotations

import posixpath
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialbook.site.addresses import relative, run_page, segment, trial_page
from trialbook.storage.reader import RunRef

ANY_NAME = st.text(alphabet=st.characters(exclude_categories=()), max_size=20)


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("negative-amount", "negative-amount"),
        ("20261130-151526-3f9c", "20261130-151526-3f9c"),
        ("r1.rerun1", "r1.rerun1"),
        ("..", "=2E=2E"),
        (".hidden", "=2Ehidden"),
        ("end.", "end=2E"),
        ("a/b", "a=2Fb"),
        ("%2F", "=252F"),
        ("=2F", "=3D2F"),
        ("", "="),
        ("é\u202e", "=C3=A9=E2=80=AE"),
        ("javascript:", "javascript=3A"),
    ],
)
def test_a_name_becomes_one_harmless_segment(name: str, made: str) -> None:
    assert segment(name) == made


@given(ANY_NAME)
def test_no_name_leads_out_of_its_folder(name: str) -> None:
    made = segment(name)
    assert re.fullmatch(r"[A-Za-z0-9=_-]([A-Za-z0-9=._-]*[A-Za-z0-9=_-])?", made)


@given(ANY_NAME, ANY_NAME)
def test_different_names_never_share_a_segment(one: str, other: str) -> None:
    assert (segment(one) == segment(other)) == (one == other)


@given(ANY_NAME, ANY_NAME, ANY_NAME)
def test_pages_of_runs_and_trials_are_below_runs(suite: str, run: str, trial: str) -> None:
    ref = RunRef(suite, run)
    for path in (run_page(ref), trial_page(ref, trial)):
        assert posixpath.normpath(path) == path
        assert path.startswith("runs/")


@pytest.mark.parametrize(
    ("page", "target", "link"),
    [
        ("index.html", "index.html", "index.html"),
        ("index.html", "runs/a/b/index.html", "runs/a/b/index.html"),
        ("runs/a/b/index.html", "index.html", "../../../index.html"),
        ("runs/a/b/t/c/r1.html", "runs/a/b/t/c/r2.html", "r2.html"),
        ("a/b.html", "a/c.html#x", "c.html#x"),
        ("a/b.html", "a/b.html#x", "#x"),
    ],
)
def test_links_are_relative_to_the_page(page: str, target: str, link: str) -> None:
    assert relative(page, target) == link
