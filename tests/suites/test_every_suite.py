from __future__ import annotations

from pathlib import Path

import pytest

from trialbook.formats.authored import read_document
from trialbook.registry import Registry
from trialbook.storage.suites import check_suite, load_suite, suite_names
from trialbook.workflow.locking import lock_state

SHIPPED = (
    "escape-room",
    "export-feature",
    "golden-python",
    "hook-guard",
    "instruction-drift",
    "narrow-changes",
    "real-agents",
    "rotation-feature",
)


def test_these_suites_ship(root: Path) -> None:
    assert tuple(sorted(suite_names(root))) == SHIPPED


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_suite_has_no_mistake(root: Path, name: str) -> None:
    assert check_suite(root, name, Registry()) == []


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_suite_is_as_it_was_locked(root: Path, name: str) -> None:
    suite = load_suite(root, name, Registry())
    state = lock_state(root, suite, Registry())
    assert state.stored is not None, f"lock it: trialbook suite lock {name}"
    assert state.differing == (), f"put it back, or: trialbook suite bump {name}"
    assert not any(row.blocks or row.waiver for row in state.stored.lock.matrix)


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_suite_lists_every_configuration_and_describes_it(root: Path, name: str) -> None:
    suite = load_suite(root, name, Registry())
    files = sorted(path.stem for path in (root / suite.folder / "configurations").iterdir())
    assert sorted(configuration.name for configuration in suite.configurations) == files
    assert all(configuration.description for configuration in suite.configurations)


@pytest.mark.parametrize("name", SHIPPED)
def test_a_readme_names_every_task_and_configuration(root: Path, name: str) -> None:
    suite = load_suite(root, name, Registry())
    readme = (root / suite.folder / "README.md").read_text()
    names = [task.name for task in suite.tasks]
    names += [configuration.name for configuration in suite.configurations]
    assert [name for name in names if f"`{name}`" not in readme] == []


@pytest.mark.parametrize("name", SHIPPED)
def test_every_check_of_a_shipped_suite_asks_its_question(root: Path, name: str) -> None:
    for path in (root / "suites" / name).rglob("checks.yaml"):
        document, problems = read_document(path, str(path))
        assert document is not None
        assert not problems
        assert all(check["question"].endswith("?") for check in document.data["checks"])
