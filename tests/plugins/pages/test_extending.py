"""The examples of the page on extending the site, as they stand there, installed and built."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path, PurePath

import pytest
from tests.recorded import drift_run, new_ledger, record_run

PAGE = Path(__file__).parents[3] / "site/pages/how-to/extend-the-site.md"


def blocks(language: str) -> list[str]:
    """The examples of the page in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    root = new_ledger(tmp_path / "ledger")
    record_run(root, *drift_run())
    (root / "site/pages").mkdir(parents=True)
    (root / "site/pages/words.md").write_text("# Our words\n")
    (root / "site/owners.txt").write_text("instruction-drift: Ada & <b>Bob</b>\n")
    return root


def install(folder: Path, module: str) -> None:
    """What pip leaves of the example: its files and its entry point."""
    [project] = blocks("toml")
    _, template = blocks("html")
    group, line = re.search(r'entry-points\."(.+?)"\]\n(.+?)\n', project, re.DOTALL).groups()  # type: ignore[union-attr]
    about = folder / "our_owners-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: our-owners\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[{group}]\n{line.replace(chr(34), '')}\n")
    templates = folder / "our_owners/templates/owners"
    templates.mkdir(parents=True)
    (templates / "page.html").write_text(template)
    (folder / "our_owners/__init__.py").write_text(module)


def build(ledger: Path, installed: Path) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join((str(installed), os.environ.get("PYTHONPATH", "")))
    return subprocess.run(
        [sys.executable, "-m", "trialbook", "-C", str(ledger), "site", "build"],
        env=dict(os.environ) | {"PYTHONPATH": paths, "TRIALBOOK_CACHE": str(ledger.parent / "c")},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_package_of_the_example_takes_its_templates_along() -> None:
    [project] = blocks("toml")
    [(package, patterns)] = tomllib.loads(project)["tool"]["setuptools"]["package-data"].items()
    page = PurePath("our_owners/templates/owners/page.html")
    assert any(page.match(f"{package}/{pattern}") for pattern in patterns)


def test_the_plugin_of_the_example_brings_its_page(ledger: Path, tmp_path: Path) -> None:
    install(tmp_path / "installed", blocks("python")[0])
    done = build(ledger, tmp_path / "installed")
    assert done.returncode == 0, done.stderr
    page = (ledger / "site/_build/owners/index.html").read_text()
    assert "<td>Ada &amp; &lt;b&gt;Bob&lt;/b&gt;</td>" in page
    assert 'href="../suites/instruction-drift/index.html"' in page
    assert ">Owners</a>" in (ledger / "site/_build/index.html").read_text()
    # It is asked in every build, and what it says anew is there.
    (ledger / "site/owners.txt").write_text("instruction-drift: Cleo\n")
    assert build(ledger, tmp_path / "installed").returncode == 0
    assert "<td>Cleo</td>" in (ledger / "site/_build/owners/index.html").read_text()


def test_a_link_of_a_plugin_that_leads_nowhere_is_named_with_its_page(
    ledger: Path, tmp_path: Path
) -> None:
    install(tmp_path / "installed", blocks("python")[0])
    (ledger / "site/owners.txt").write_text("gone: Ada\n")
    done = build(ledger, tmp_path / "installed")
    assert done.returncode == 2
    assert "owners/index.html: a link leads to suites/gone/index.html" in done.stderr


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("read_text()", "failed: FileNotFoundError"),
        ("1 / 0", "failed: ZeroDivisionError('division by zero')"),
    ],
)
def test_a_fault_of_a_plugin_is_told_with_its_name(
    ledger: Path, tmp_path: Path, fault: str, said: str
) -> None:
    module = blocks("python")[0]
    if fault == "read_text()":
        (ledger / "site/owners.txt").unlink()
    else:
        module = module.replace("        lines =", f"        {fault}\n        lines =")
    install(tmp_path / "installed", module)
    done = build(ledger, tmp_path / "installed")
    assert done.returncode == 2
    assert "the pages plugin 'owners' of our-owners 1.0" in done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_fault_in_the_template_of_a_plugin_is_told_with_its_name(
    ledger: Path, tmp_path: Path
) -> None:
    install(tmp_path / "installed", blocks("python")[0])
    template = tmp_path / "installed/our_owners/templates/owners/page.html"
    template.write_text("{{ nowhere }}")
    done = build(ledger, tmp_path / "installed")
    assert done.returncode == 2
    assert "the pages plugin 'owners' of our-owners" in done.stderr
    assert "'nowhere' is undefined" in done.stderr


def test_the_template_of_the_example_takes_the_place_of_the_theme_s(
    ledger: Path, tmp_path: Path
) -> None:
    template, _ = blocks("html")
    (ledger / "site/templates").mkdir()
    (ledger / "site/templates/glossary.html").write_text(template)
    done = build(ledger, tmp_path / "nothing")
    assert done.returncode == 0, done.stderr
    page = (ledger / "site/_build/glossary.html").read_text()
    assert "Acceptance" in page or "acceptance" in page
    assert '<a href="docs/words.html">on a page of our own</a>' in page
    assert "<title>Glossary" in page
