from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from trialbook.errors import EnvironmentProblem, UserError
from trialbook.formats.authored import read_document
from trialbook.formats.editing import edit_text
from trialbook.formats.schema import SUITE_KINDS, load_schema
from trialbook.registry import Registry
from trialbook.storage.repository import Repository, Signature, TreeEntry
from trialbook.storage.scaffold import new_suite, new_task, write_schemas
from trialbook.storage.suites import check_suite, load_suite
from trialbook.storage.task_sources import Source, folder_source, git_source, package_source

SHA256 = "ab" * 32


@pytest.fixture(scope="module")
def registry() -> Registry:
    return Registry()


@pytest.fixture
def ledger(tmp_path: Path, registry: Registry) -> Path:
    root = tmp_path / "ledger"
    (root / "suites").mkdir(parents=True)
    new_suite(root, "ex", registry)
    return root


def everything(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def set_value(file: Path, key: str, value: object) -> None:
    file.write_text(edit_text(file.read_text(), (key,), value))


def test_a_new_suite_is_clean_and_lists_its_files(tmp_path: Path, registry: Registry) -> None:
    (tmp_path / "suites").mkdir()
    made = new_suite(tmp_path, "refunds", registry)
    assert made == sorted(made)
    assert {str(path) for path in made} == set(everything(tmp_path))
    assert check_suite(tmp_path, "refunds", registry) == []
    suite = load_suite(tmp_path, "refunds", registry)
    assert {item.agent for item in suite.configurations} == {"replay"}


def test_every_scaffolded_file_names_a_schema_that_is_there_and_has_no_words_left(
    ledger: Path, registry: Registry
) -> None:
    set_value(ledger / "suites/ex/suite.yaml", "accept", "checks and acceptance")
    new_task(ledger, "ex", "two", registry)
    for path in ledger.rglob("*.yaml"):
        text = path.read_text()
        first = text.splitlines()[0]
        assert first.startswith("# yaml-language-server: $schema=")
        schema = path.parent / first.partition("=")[2]
        kind = schema.name.partition(".")[0]
        assert json.loads(schema.read_text()) == load_schema(kind)
        assert "@" not in text
    assert all("@" not in path.name for path in ledger.rglob("*"))


def test_the_schemas_that_editors_use_are_kept_up_to_date(ledger: Path) -> None:
    assert write_schemas(ledger) == []
    stale = ledger / "suites/.schemas/task.schema.json"
    stale.write_text("{}")
    assert write_schemas(ledger) == [Path("suites/.schemas/task.schema.json")]
    names = {path.name for path in stale.parent.iterdir()}
    assert names == {f"{kind}.schema.json" for kind in SUITE_KINDS}


def test_a_new_task_is_clean_with_and_without_a_snapshot(ledger: Path, registry: Registry) -> None:
    source = Source(lines={"package": "tomli", "version": "2.0", "sha256": SHA256})
    for name, given in (("two", None), ("three", source)):
        made = new_task(ledger, "ex", name, registry, given)
        assert made.left == ()
        assert f"suites/ex/tasks/{name}/task.yaml" in map(str, made.files)
    assert check_suite(ledger, "ex", registry) == []
    tasks = {task.name: task for task in load_suite(ledger, "ex", registry).tasks}
    assert tasks["three"].snapshot.revision == "2.0"
    assert tasks["two"].snapshot.location == "snapshot"


def test_a_new_task_gets_the_graders_that_the_policy_names(
    ledger: Path, registry: Registry
) -> None:
    suite = ledger / "suites/ex/suite.yaml"
    set_value(suite, "accept", "acceptance or checks")
    made = new_task(ledger, "ex", "two", registry)
    assert [problem.message for problem in made.left] == [
        "task greet-strangers has no grader `acceptance`"
    ]
    document, _ = read_document(ledger / "suites/ex/tasks/two/task.yaml", "t")
    assert document is not None
    assert [next(iter(entry)) for entry in document.data["graders"]] == ["checks", "acceptance"]
    assert (ledger / "suites/ex/tasks/two/private/expected.json").is_file()


def test_what_a_new_task_cannot_bring_is_said(ledger: Path, registry: Registry) -> None:
    configuration = ledger / "suites/ex/configurations/baseline.yaml"
    set_value(configuration, "files", "recordings/baseline/{task}/r{repetition}")
    before = {problem.message for problem in check_suite(ledger, "ex", registry)}
    assert len(before) == 1
    configuration.write_text(
        configuration.read_text().replace("files: ", "gives_reference: true\n# ")
    )
    set_value(ledger / "suites/ex/tasks/greet-strangers/task.yaml", "no_change_expected", True)
    assert check_suite(ledger, "ex", registry) == []
    made = new_task(ledger, "ex", "two", registry)
    assert [problem.message for problem in made.left] == [
        "there is no reference to give in task two"
    ]


def test_nothing_is_overwritten(ledger: Path, registry: Registry) -> None:
    before = everything(ledger)
    with pytest.raises(UserError, match="suites/ex is there already"):
        new_suite(ledger, "ex", registry)
    with pytest.raises(UserError, match="greet-strangers is there already"):
        new_task(ledger, "ex", "greet-strangers", registry)
    (ledger / "suites/gone").symlink_to("nowhere")
    with pytest.raises(UserError, match="there already"):
        new_suite(ledger, "gone", registry)
    assert everything(ledger) == before


def test_recordings_that_are_there_already_stay(ledger: Path, registry: Registry) -> None:
    there = ledger / "suites/ex/recordings/baseline/two/stdout.txt"
    there.parent.mkdir(parents=True)
    there.write_text("mine")
    made = new_task(ledger, "ex", "two", registry)
    assert there.read_text() == "mine"
    assert there.relative_to(ledger) not in made.files
    assert Path("suites/ex/recordings/candidate/two/stdout.txt") in made.files


def test_nothing_is_left_half_written(ledger: Path, registry: Registry) -> None:
    before = everything(ledger)
    # The last move fails: a file stands where the folder for the tasks has to be.
    (ledger / "suites/ex/tasks").rename(ledger / "suites/ex/elsewhere")
    (ledger / "suites/ex/tasks").write_text("a file")
    with pytest.raises((EnvironmentProblem, UserError)):
        new_task(ledger, "ex", "two", registry)
    (ledger / "suites/ex/tasks").unlink()
    (ledger / "suites/ex/elsewhere").rename(ledger / "suites/ex/tasks")
    assert everything(ledger) == before
    assert not list((ledger / "suites").rglob(".new-*"))


def test_a_suite_whose_plugins_are_missing_is_not_made(tmp_path: Path, registry: Registry) -> None:
    (tmp_path / "suites").mkdir()
    fewer = Registry([plugin for plugin in registry.all() if plugin.name != "replay"])
    with pytest.raises(UserError, match="no agent is named 'replay'"):
        new_suite(tmp_path, "ex", fewer)
    assert sorted(path.name for path in (tmp_path / "suites").iterdir()) == [".schemas"]


@pytest.mark.parametrize("name", ["", "A", "a/b", "..", "a..b", ".x", "-x", "x" * 65, "a b", "ä"])
def test_names_that_are_not_usable_are_refused(ledger: Path, registry: Registry, name: str) -> None:
    with pytest.raises(UserError, match="not a usable name"):
        new_suite(ledger, name, registry)
    with pytest.raises(UserError, match="not a usable name"):
        new_task(ledger, "ex", name, registry)


def test_a_task_needs_a_suite(ledger: Path, registry: Registry) -> None:
    with pytest.raises(UserError, match="no suite named 'nope'") as caught:
        new_task(ledger, "nope", "two", registry)
    assert caught.value.hint == "here are: ex"


def test_a_folder_in_the_suite_is_used_where_it_is(ledger: Path, registry: Registry) -> None:
    shared = ledger / "suites/ex/snapshots/shop"
    shared.mkdir(parents=True)
    (shared / "a.py").write_text("x")
    source = folder_source(shared, ledger / "suites/ex/tasks/two")
    assert source == Source(lines={"folder": "../../snapshots/shop"})
    assert new_task(ledger, "ex", "two", registry, source).left == ()


def test_a_folder_elsewhere_is_copied(ledger: Path, registry: Registry, tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin/run").write_bytes(b"#!\r\n")
    (folder / "bin/run").chmod(0o755)
    (folder / "link").symlink_to("bin/run")
    source = folder_source(folder, ledger / "suites/ex/tasks/two")
    made = new_task(ledger, "ex", "two", registry, source)
    copy = ledger / "suites/ex/tasks/two/snapshot"
    assert made.left == ()
    assert (copy / "bin/run").read_bytes() == b"#!\r\n"
    assert os.access(copy / "bin/run", os.X_OK)
    assert (copy / "link").readlink() == Path("bin/run")


def test_folders_that_make_no_snapshot_are_refused(ledger: Path, tmp_path: Path) -> None:
    task = ledger / "suites/ex/tasks/two"
    (tmp_path / "repository/.git").mkdir(parents=True)
    with pytest.raises(UserError, match="no folder"):
        folder_source(tmp_path / "gone", task)
    with pytest.raises(UserError, match="is a git repository") as caught:
        folder_source(tmp_path / "repository", task)
    assert "--git" in caught.value.hint
    for above in (ledger, ledger / "suites", ledger / "suites/ex", ledger / "suites/ex/tasks"):
        with pytest.raises(UserError, match="holds the suite itself"):
            folder_source(above, task)


@pytest.fixture
def shop(tmp_path: Path) -> tuple[Path, str]:
    """A repository with one commit on main, and the commit's id."""
    folder = tmp_path / "shop"
    folder.mkdir()
    repository = Repository.init(folder)
    store = repository.store
    tree = store.add_tree([TreeEntry(b"a.py", 0o100644, store.add_blob(b"x"))])
    commit = store.add_commit(tree, [], Signature("a", "a@example.invalid", 0), "one")
    repository.close()
    branch = folder / ".git/refs/heads/main"
    branch.parent.mkdir(parents=True, exist_ok=True)
    branch.write_text(f"{commit}\n")
    return folder, commit


def test_a_repository_gives_its_commit(
    ledger: Path, registry: Registry, shop: tuple[Path, str]
) -> None:
    folder, commit = shop
    task = ledger / "suites/ex/tasks/two"
    wanted = Source(lines={"git": "../../../../../shop", "commit": commit})
    (folder / "sub").mkdir()
    assert git_source(str(folder), None, task) == wanted
    assert git_source(str(folder / "sub"), "main", task) == wanted
    assert git_source(str(folder), commit, task) == wanted
    assert new_task(ledger, "ex", "two", registry, wanted).left == ()


def test_repositories_and_commits_that_are_not_there_are_refused(
    ledger: Path, shop: tuple[Path, str], tmp_path: Path
) -> None:
    task = ledger / "suites/ex/tasks/two"
    (tmp_path / "empty").mkdir()
    Repository.init(tmp_path / "empty").close()
    with pytest.raises(UserError, match="no repository"):
        git_source(str(tmp_path / "gone"), None, task)
    with pytest.raises(UserError, match="has no commit yet"):
        git_source(str(tmp_path / "empty"), None, task)
    for name in ("nope", "12" * 20, shop[1][:8], "../../config", "a b", "-x"):
        with pytest.raises(UserError, match=f"has no commit {name}"):
            git_source(str(shop[0]), name, task)
    with pytest.raises(UserError, match="full commit id"):
        git_source("https://a.example/b.git", "main", task)
    assert git_source("https://a.example/b.git", "12" * 20, task).lines["commit"] == "12" * 20


def test_a_package_needs_one_version_and_a_digest() -> None:
    assert package_source("tomli==2.0.1", SHA256).lines == {
        "package": "tomli",
        "version": "2.0.1",
        "sha256": SHA256,
    }
    for requirement in ("tomli", "tomli>=2", "tomli==2.*", "==1"):
        with pytest.raises(UserError, match="NAME==VERSION"):
            package_source(requirement, SHA256)
    for digest in (None, "AB" * 32, "ab"):
        with pytest.raises(UserError, match="needs the sha256"):
            package_source("tomli==2.0.1", digest)
