from __future__ import annotations

import importlib
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from trialbook.cli.main import COMMANDS, cli
from trialbook.cli.reference import pages
from trialbook.reporting.results import COLUMNS, OPINION_COLUMNS

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "site/pages"


def commands() -> Iterator[tuple[str, click.Command]]:
    for name in sorted(COMMANDS):
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        yield name, command
        if isinstance(command, click.Group):
            for inner in command.list_commands(click.Context(command)):
                found = command.get_command(click.Context(command), inner)
                assert found is not None
                yield f"{name} {inner}", found


@pytest.mark.parametrize("name", sorted(pages()))
def test_a_generated_page_is_what_the_program_would_write_now(name: str) -> None:
    assert (PAGES / "reference" / name).read_text() == pages()[name], "run `make docs`"


def test_every_command_has_help_and_an_example() -> None:
    for name, command in commands():
        assert command.help, name
        if not isinstance(command, click.Group):
            assert command.epilog, name
            assert f"trialbook {name}" in command.epilog, name
            assert "Example" in command.epilog, name


def test_every_option_is_explained() -> None:
    for name, command in commands():
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, f"{name} {parameter.name}"


def test_every_command_is_listed_with_a_sentence() -> None:
    for name, (module, sentence) in COMMANDS.items():
        assert sentence.endswith("."), name
        assert hasattr(importlib.import_module(module), "command"), name


def test_every_column_of_the_results_is_documented() -> None:
    text = (PAGES / "reference/layout.md").read_text()
    assert [column for column in COLUMNS + OPINION_COLUMNS if f"`{column}`" not in text] == []


def test_every_group_of_entry_points_is_documented() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    text = "".join(path.read_text() for path in PAGES.rglob("*.md"))
    text += (ROOT / "CONTRIBUTING.md").read_text() + (ROOT / "src/trialbook/api.py").read_text()
    assert [group for group in project["entry-points"] if group not in text] == []


def test_every_link_of_a_page_leads_to_a_page() -> None:
    sources = [*PAGES.rglob("*.md"), *ROOT.glob("*.md"), *(ROOT / "suites").glob("*/README.md")]
    for source in sources:
        for target in re.findall(r"\]\(([^)#\s]+)", source.read_text()):
            if "://" not in target:
                assert (source.parent / target).exists(), f"{source}: {target}"


def test_every_dependency_has_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    text = (ROOT / "CONTRIBUTING.md").read_text()
    for requirement in project["dependencies"]:
        name = re.split(r"[<>=\[ ]", requirement)[0]
        assert name in text, name


def test_every_dependency_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    pinned = (ROOT / "constraints.txt").read_text().lower()
    wanted = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
    for requirement in wanted:
        name = re.split(r"[<>=\[ ]", requirement)[0].lower()
        assert f"\n{name}==" in pinned, name


def test_the_pages_are_written_into_a_folder_that_is_there(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "trialbook.cli.reference"]
    for words, status in ((["--help"], 0), ([], 2), (["nowhere"], 2)):
        done = subprocess.run([*command, *words], cwd=tmp_path, capture_output=True, check=False)
        assert done.returncode == status
        assert list(tmp_path.iterdir()) == []
    subprocess.run([*command, "."], cwd=tmp_path, check=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(pages())


def test_the_fields_of_a_file_are_shown_with_their_defaults() -> None:
    text = pages()["files.md"]
    assert "| `repetitions` | integer |  | `3` |" in text
    assert "| `limits.file_mb` | number or null |  | `" in text
