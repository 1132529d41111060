"""What is built step by step is what is built at once; what did not change is not made again."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.conftest import git
from tests.recorded import (
    drift_run,
    fixed_system,
    full_ledger,
    hostile_run,
    mixed_run,
    new_ledger,
    record_run,
)

from trialbook.errors import UserError
from trialbook.formats.records import to_json
from trialbook.model.plan import Plan
from trialbook.model.trial import TrialBundle
from trialbook.registry import Registry
from trialbook.site.build import BuildOptions, SiteSummary, build_site
from trialbook.storage.ledger import Ledger
from trialbook.storage.reader import Reader
from trialbook.workflow.amend import AmendRequest, amend


def build(root: Path, output: Path, cache: Path | None = None, jobs: int = 1) -> SiteSummary:
    reader = Reader.open(root, cache=cache)
    options = BuildOptions(cache=cache, jobs=jobs)
    try:
        return build_site(root, reader, output, registry=Registry(), options=options)
    finally:
        reader.close()


def everything(site: Path) -> dict[str, bytes]:
    return {
        path.relative_to(site).as_posix(): path.read_bytes()
        for path in sorted(site.rglob("*"))
        if path.is_file()
    }


def assert_as_if_built_at_once(root: Path, site: Path, fresh: Path) -> None:
    shutil.rmtree(fresh, ignore_errors=True)
    build(root, fresh)
    assert everything(site) == everything(fresh)


def trials_of(root: Path, plan: Plan, bundles: list[TrialBundle]) -> Iterator[None]:
    """Commit a plan, then a trial with each step."""
    ledger = Ledger.open(root, fixed_system())
    base = f"runs/{plan.path}"
    ledger.commit({f"{base}/plan.json": to_json(plan)}, f"plan {plan.path}\n")
    for bundle in bundles:
        yield
        folder = f"{base}/{bundle.record.path}"
        files = {f"{folder}/{name}": data for name, data in bundle.files.items()}
        files[f"{folder}/trial.json"] = to_json(bundle.record)
        ledger.commit(files, f"trial {bundle.record.path}\n")
    ledger.close()


def amended(root: Path) -> None:
    plan, bundles = drift_run()
    request = AmendRequest(
        trial=f"{plan.run}/{bundles[0].record.path}", reason="as people saw", note="looked at it"
    )
    amend(root, fixed_system(), request)


def written(root: Path, path: str, text: str) -> None:
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)


def removed(root: Path, path: str) -> None:
    (root / path).unlink()


CHANGES: dict[str, Callable[[Path], None]] = {
    "one more run": lambda root: record_run(root, *mixed_run(), closed=False),
    "a hostile run": lambda root: record_run(root, *hostile_run()),
    "an amendment": amended,
    "a page of prose": lambda root: written(root, "site/pages/index.md", "# Ours\n\nWords.\n"),
    "more prose": lambda root: written(root, "site/pages/more.md", "# More\n\n[x](index.md)\n"),
    "a name": lambda root: written(root, "site/site.yaml", "title: Our site\n"),
    "a template": lambda root: written(
        root,
        "site/templates/glossary.html",
        '{% extends "base.html" %}{% block main %}x{% endblock %}',
    ),
    "no template": lambda root: removed(root, "site/templates/glossary.html"),
    "no more prose": lambda root: removed(root, "site/pages/more.md"),
}


@pytest.mark.slow
@pytest.mark.parametrize("cached", [True, False])
def test_a_site_that_grows_is_the_one_that_is_built_at_once(
    tmp_path: Path,
    cached: bool,
) -> None:
    root = new_ledger(tmp_path / "ledger")
    site, cache = tmp_path / "site", tmp_path / "cache" if cached else None
    build(root, site, cache)
    for number, _ in enumerate(trials_of(root, *drift_run())):
        if number % 3 == 0:
            build(root, site, cache)
            assert_as_if_built_at_once(root, site, tmp_path / "fresh")
    for change in CHANGES.values():
        change(root)
        build(root, site, cache)
        assert_as_if_built_at_once(root, site, tmp_path / "fresh")


@pytest.mark.slow
@settings(
    max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(looks=st.sets(st.sampled_from(sorted(CHANGES)), min_size=1), jobs=st.integers(1, 2))
def test_it_does_not_matter_how_often_it_was_built_on_the_way(
    tmp_path_factory: pytest.TempPathFactory, looks: set[str], jobs: int
) -> None:
    folder = tmp_path_factory.mktemp("built")
    root = new_ledger(folder / "ledger")
    record_run(root, *drift_run())
    for name, change in CHANGES.items():
        change(root)
        if name in looks:
            build(root, folder / "site", folder / "cache", jobs)
    build(root, folder / "site", folder / "cache", jobs)
    assert_as_if_built_at_once(root, folder / "site", folder / "fresh")


@pytest.mark.slow
def test_a_ledger_that_went_back_loses_the_pages_of_what_is_gone(tmp_path: Path) -> None:
    root, site = full_ledger(tmp_path / "ledger"), tmp_path / "site"
    build(root, site, tmp_path / "cache")
    git(root, "reset", "-q", "--hard", "HEAD~5")
    assert build(root, site, tmp_path / "cache").removed > 0
    assert_as_if_built_at_once(root, site, tmp_path / "fresh")


@pytest.fixture
def built(tmp_path: Path) -> tuple[Path, Path, Path]:
    """A ledger, its site and the cache."""
    root, site, cache = full_ledger(tmp_path / "ledger"), tmp_path / "site", tmp_path / "cache"
    build(root, site, cache)
    return root, site, cache


def test_what_did_not_change_is_kept_without_a_look(built: tuple[Path, Path, Path]) -> None:
    root, site, cache = built
    again = build(root, site, cache)
    assert (again.made, again.written, again.removed) == (0, 0, 0)
    assert again.kept > 0


def test_one_more_trial_makes_few_pages_and_those_of_other_tasks_stay(
    built: tuple[Path, Path, Path],
) -> None:
    root, site, cache = built
    before = {path: path.stat().st_mtime_ns for path in site.rglob("*.html")}
    amended(root)
    summary = build(root, site, cache)
    plan, bundles = drift_run()
    changed, others = bundles[0].record.path, [b.record.path for b in bundles]
    base = site / "runs" / plan.path
    assert "as people saw" in (base / f"{changed}.html").read_text()
    for path in others:
        page = base / f"{path}.html"
        if path.partition("/")[0] != changed.partition("/")[0]:
            assert page.stat().st_mtime_ns == before[page]
    assert 0 < summary.made < summary.pages


@pytest.mark.parametrize("cached", [True, False])
def test_a_file_that_somebody_changed_or_removed_is_made_again(
    built: tuple[Path, Path, Path],
    cached: bool,
) -> None:
    root, site, cache = built
    whole = everything(site)
    page, other = sorted(site.glob("runs/*/*/index.html"))[:2]
    page.write_bytes(page.read_bytes()[:-1] + b"!")
    other.unlink()
    build(root, site, cache if cached else None)
    assert everything(site) == whole


def test_a_copy_of_a_site_is_taken_up_by_what_its_files_are(
    built: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    root, site, cache = built
    shutil.copytree(site, tmp_path / "copy", copy_function=shutil.copyfile)
    summary = build(root, tmp_path / "copy", cache)
    assert (summary.made, summary.written) == (0, 0)


def test_records_that_are_damaged_are_as_good_as_none(built: tuple[Path, Path, Path]) -> None:
    root, site, cache = built
    whole = everything(site)
    for path in (site / ".trialbook-site").iterdir():
        path.write_bytes(b"nonsense")
    build(root, site, cache)
    assert everything(site) == whole


def test_a_build_that_broke_off_is_continued(built: tuple[Path, Path, Path]) -> None:
    root, site, cache = built
    record = {name: root / name for name in ("site/templates/suite.html", "site/pages/a.md")}
    for path in record.values():
        path.parent.mkdir(parents=True, exist_ok=True)
    record["site/pages/a.md"].write_text("# A page that is there for a moment\n")
    record["site/templates/suite.html"].write_text("{{ nowhere.to }}")
    with pytest.raises(UserError, match="nowhere"):
        build(root, site, cache)
    assert (site / "docs/a.html").is_file()
    for path in record.values():
        path.unlink()
    build(root, site, cache)
    assert not (site / "docs").exists()
    assert_as_if_built_at_once(root, site, site.parent / "fresh")


@pytest.mark.slow
def test_a_build_that_is_killed_at_any_moment_is_continued(tmp_path: Path) -> None:
    root, site = full_ledger(tmp_path / "ledger"), tmp_path / "site"
    command = [sys.executable, "-m", "trialbook", "-C", str(root), "site", "build"]
    environment = dict(os.environ) | {"TRIALBOOK_CACHE": str(tmp_path / "cache")}
    for files in (1, 20, 40, 60):
        process = subprocess.Popen(
            [*command, "--output", str(site), "--jobs", "1"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        while process.poll() is None and len(list(site.rglob("*.html"))) < files:
            pass
        process.send_signal(signal.SIGKILL)
        process.wait()
    build(root, site, tmp_path / "cache")
    assert_as_if_built_at_once(root, site, tmp_path / "fresh")


@pytest.mark.slow
def test_several_processes_make_the_same_site(tmp_path: Path) -> None:
    root = full_ledger(tmp_path / "ledger")
    build(root, tmp_path / "one")
    build(root, tmp_path / "two", tmp_path / "cache", jobs=2)
    assert everything(tmp_path / "one") == everything(tmp_path / "two")


@pytest.mark.slow
def test_a_fault_in_another_process_is_told_as_in_this_one(tmp_path: Path) -> None:
    root = full_ledger(tmp_path / "ledger")
    written(root, "site/templates/trial.html", "{% if %}")
    with pytest.raises(UserError, match="Expected an expression") as caught:
        build(root, tmp_path / "site", jobs=2)
    assert caught.value.problems[0].path.endswith("trial.html")
