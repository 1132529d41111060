from __future__ import annotations

import hashlib
import os
import shutil
import time
from importlib import metadata
from pathlib import Path

import pytest

from trialbook.errors import UserError
from trialbook.formats.editing import edit_text
from trialbook.model.grader_use import GraderUse
from trialbook.model.suite import (
    Comparison,
    Limits,
    Network,
    Reference,
    Snapshot,
    SnapshotKind,
    Split,
)
from trialbook.model.toolchain import Image, Toolchain
from trialbook.registry import Plugin, Registry
from trialbook.storage.repository import DIRECTORY, Repository, Signature, TreeEntry
from trialbook.storage.scaffold import new_suite
from trialbook.storage.suites import check_suite, load_suite, suite_names

TASK = "suites/ex/tasks/greet-strangers"
CONFIGURATION = "suites/ex/configurations/baseline.yaml"
SUITE = "suites/ex/suite.yaml"
SHA256 = "ab" * 32
COMMIT = "12" * 20


@pytest.fixture(scope="module")
def registry() -> Registry:
    return Registry()


@pytest.fixture
def ledger(tmp_path: Path, registry: Registry) -> Path:
    """A ledger with one clean suite, ``ex``."""
    (tmp_path / "suites").mkdir()
    new_suite(tmp_path, "ex", registry)
    return tmp_path


def repository(folder: Path, files: dict[bytes, bytes]) -> str:
    """Commit files (one level deep) in a new repository; gives the commit's id."""
    folder.mkdir(exist_ok=True)
    made = Repository.init(folder)
    store = made.store
    entries = [
        TreeEntry(name, 0o100644, store.add_blob(data)) for name, data in sorted(files.items())
    ]
    commit = store.add_commit(
        store.add_tree(entries), [], Signature("a", "a@example.invalid", 0), "one"
    )
    made.close()
    return commit


def change(ledger: Path, path: str, *values: tuple[str, object]) -> None:
    """Set values (dotted keys) in a YAML file."""
    file = ledger / path
    text = file.read_text()
    for dotted, value in values:
        pointer = tuple(int(part) if part.isdigit() else part for part in dotted.split("."))
        text = edit_text(text, pointer, value)
    file.write_text(text)


def said(ledger: Path, registry: Registry) -> list[str]:
    """All problems without the places, which other tests look at."""
    problems = check_suite(ledger, "ex", registry)
    assert problems == sorted(problems)
    assert all(problem.line >= 1 or problem.path for problem in problems)
    return [f"{one.path}: {one.message}; {one.hint}".removesuffix("; ") for one in problems]


def test_the_scaffold_is_clean_and_loads(ledger: Path, registry: Registry) -> None:
    assert check_suite(ledger, "ex", registry) == []
    suite = load_suite(ledger, "ex", registry)
    assert (suite.name, suite.folder, suite.protocol) == ("ex", "suites/ex", 1)
    assert [task.name for task in suite.tasks] == ["greet-strangers"]
    assert [item.name for item in suite.configurations] == ["baseline", "candidate"]
    assert suite.rerun == {"environment_failure": 1}
    assert suite.compare is not None
    assert suite.compare.margin == 0.10


def test_everything_that_is_written_is_loaded(ledger: Path, registry: Registry) -> None:
    (ledger / "suites/ex/tools").mkdir()
    (ledger / "suites/ex/tools/requirements.txt").write_text("# tools\npytest==9.2.0\n")
    (ledger / TASK / "private/reference").mkdir(parents=True)
    (ledger / TASK / "private/reference/greeting.py").write_text("x\n")
    change(
        ledger,
        SUITE,
        ("description", "D"),
        ("repetitions", 2),
        ("limits", {"minutes": 5, "usd": 1}),
        ("limits_are_failures", False),
        ("rerun", {"cancelled": None}),
        ("compare", {"baseline": "candidate", "candidate": "baseline"}),
        ("toolchain", {"requirements": "tools/requirements.txt"}),
    )
    change(
        ledger,
        f"{TASK}/task.yaml",
        ("split", "held-out"),
        ("limits", {"turns": 9}),
        ("reference", {"overlay": "private/reference"}),
        ("must_escalate", True),
        ("snapshot", {"folder": "snapshot", "remove": ["README.md"], "links": "allowed"}),
    )
    change(
        ledger,
        CONFIGURATION,
        ("version", "1.10"),
        ("model", "m"),
        ("reasoning", "high"),
        ("approval", "deny"),
        ("sandbox", "none"),
        ("network", {"allow": ["a.example:443"]}),
        ("environment", {"A": "1"}),
        ("pass_environment", ["LANG"]),
        ("secrets", ["KEY"]),
        ("limits", {"minutes": None}),
    )
    suite = load_suite(ledger, "ex", registry)
    task, configuration = suite.tasks[0], suite.configurations[0]
    assert suite.limits == Limits(minutes=5.0, usd=1.0)
    assert (suite.description, suite.repetitions, suite.limits_are_failures) == ("D", 2, False)
    assert suite.rerun == {"cancelled": None}
    assert suite.compare == Comparison(baseline="candidate", candidate="baseline")
    digest = hashlib.sha256(b"# tools\npytest==9.2.0\n").hexdigest()
    tools = Toolchain(requirements="tools/requirements.txt", requirements_sha256=digest)
    assert task.toolchain == tools
    assert sorted(suite.files) == [SUITE, "suites/ex/tools/requirements.txt"]
    assert task.limits == {"turns": 9}
    assert (task.split, task.must_escalate) == (Split.HELD_OUT, True)
    assert task.snapshot == Snapshot(
        kind=SnapshotKind.FOLDER, location="snapshot", remove=("README.md",), links=True
    )
    assert task.reference == Reference(overlay="private/reference")
    assert task.graders == (
        GraderUse(grader="checks", parameters={"file": "checks.yaml"}, visible=True),
    )
    assert task.brief.startswith("# Greet people")
    assert configuration.network == Network(mode="allow", allow=("a.example:443",))
    assert configuration.limits == {"minutes": None}
    assert (configuration.version, configuration.model) == ("1.10", "m")
    assert (configuration.secrets, configuration.pass_environment) == (("KEY",), ("LANG",))
    assert configuration.environment == {"A": "1"}


def test_digests_cover_every_frozen_file_and_nothing_else(ledger: Path, registry: Registry) -> None:
    private = ledger / TASK / "private"
    (private / "deep/__pycache__").mkdir(parents=True)
    (private / "deep/note.md").write_bytes(b"n\r\n")
    (private / "deep/__pycache__/note.pyc").write_bytes(b"x")
    (ledger / TASK / "scribble.txt").write_text("not named anywhere")
    suite = load_suite(ledger, "ex", registry)
    assert sorted(suite.tasks[0].files) == [
        f"{TASK}/{name}"
        for name in ("brief.md", "checks.yaml", "private/deep/note.md", "task.yaml")
    ]
    digest = suite.tasks[0].files[f"{TASK}/private/deep/note.md"]
    assert digest == hashlib.sha256(b"n\r\n").hexdigest()
    recording = "suites/ex/recordings/baseline/greet-strangers"
    assert sorted(suite.configurations[0].digests) == [
        CONFIGURATION,
        "suites/ex/instructions/baseline/AGENTS.md",
        f"{recording}/overlay/greeting.py",
        f"{recording}/overlay/test_greeting.py",
        f"{recording}/stdout.txt",
    ]
    assert list(suite.files) == [SUITE]


def test_sources_of_every_kind_are_loaded(ledger: Path, registry: Registry) -> None:
    archive = ledger / "suites/ex/snapshots/a.tar"
    archive.parent.mkdir()
    archive.write_bytes(b"tar")
    commit = repository(ledger / "shop", {b"a.py": b"x"})
    digest = hashlib.sha256(b"tar").hexdigest()
    sources: list[tuple[dict[str, object], Snapshot]] = [
        (
            {"git": "../../../../shop", "commit": commit, "submodules": "excluded"},
            Snapshot(
                kind=SnapshotKind.GIT,
                location="../../../../shop",
                revision=commit,
                submodules=True,
            ),
        ),
        (
            {"git": "https://a.example/b.git", "commit": COMMIT, "path": "sub", "case": "allowed"},
            Snapshot(
                kind=SnapshotKind.GIT,
                location="https://a.example/b.git",
                revision=COMMIT,
                path="sub",
                case=True,
            ),
        ),
        (
            {"archive": "../../snapshots/a.tar", "sha256": digest, "lfs": "pointers_only"},
            Snapshot(
                kind=SnapshotKind.ARCHIVE,
                location="../../snapshots/a.tar",
                sha256=digest,
                lfs=True,
            ),
        ),
        (
            {"package": "tomli", "version": "2.0.1", "sha256": SHA256},
            Snapshot(kind=SnapshotKind.PACKAGE, location="tomli", revision="2.0.1", sha256=SHA256),
        ),
    ]
    for written, meant in sources:
        change(ledger, f"{TASK}/task.yaml", ("snapshot", written))
        change(ledger, f"{TASK}/task.yaml", ("reference", written | {"into": "lib"}))
        task = load_suite(ledger, "ex", registry).tasks[0]
        assert task.snapshot == meant
        assert task.reference is not None
        assert task.reference.snapshot is not None
        assert task.reference.snapshot.into == "lib"


def test_a_repository_has_to_be_one_and_to_have_the_commit(
    ledger: Path, registry: Registry
) -> None:
    commit = repository(ledger / "shop", {b"a.py": b"x"})
    (ledger / "shop/sub").mkdir()
    for git, named, expected in (
        ("shop/sub", commit, "is not the top of a git repository"),
        ("shop", "12" * 20, "the repository has no such commit"),
        ("shop", commit, ""),
    ):
        snapshot = {"git": f"../../../../{git}", "commit": named}
        change(ledger, f"{TASK}/task.yaml", ("snapshot", snapshot))
        problems = said(ledger, registry)
        assert len(problems) == bool(expected)
        assert expected in "".join(problems)


def test_a_commit_that_holds_the_suite_itself_gives_the_answers_away(
    ledger: Path, registry: Registry
) -> None:
    repository(ledger, {})
    store = Repository.discover(ledger).store
    folder = store.add_tree([TreeEntry(b"task.yaml", 0o100644, store.add_blob(b"x"))])
    for name in (b"tasks", b"ex", b"suites"):
        folder = store.add_tree([TreeEntry(name, DIRECTORY, folder)])
    commit = store.add_commit(folder, [], Signature("a", "a@example.invalid", 0), "one")
    snapshot: dict[str, object] = {"git": "../../../..", "commit": commit}
    for more, expected in (
        ({}, "this commit holds the tasks of the suite itself, in `suites/ex/tasks`"),
        ({"path": "suites"}, "this commit holds the tasks of the suite itself"),
        ({"remove": ["suites/ex"]}, ""),
        ({"path": "suites", "remove": ["ex/tasks"]}, ""),
        ({"path": "src"}, ""),
    ):
        change(ledger, f"{TASK}/task.yaml", ("snapshot", snapshot | more))
        problems = said(ledger, registry)
        assert len(problems) == bool(expected), problems
        assert expected in "".join(problems)


def test_a_patch_may_be_named_in_short(ledger: Path, registry: Registry) -> None:
    (ledger / TASK / "answer.patch").write_text("")
    change(ledger, f"{TASK}/task.yaml", ("reference", "answer.patch"))
    task = load_suite(ledger, "ex", registry).tasks[0]
    assert task.reference == Reference(patch="answer.patch")
    assert f"{TASK}/answer.patch" in task.files


def test_one_pass_reports_the_mistakes_of_all_files_with_places(
    ledger: Path, registry: Registry
) -> None:
    file = ledger / SUITE
    file.write_text(
        file.read_text().replace("decision:", "decison:").replace("checks\n", "cheks\n")
    )
    file = ledger / CONFIGURATION
    file.write_text(file.read_text().replace("agent: replay", "agent: replya"))
    file = ledger / f"{TASK}/checks.yaml"
    file.write_text(
        file.read_text().replace('"^def test_"', '"("').replace("id: names", "id: test")
    )
    file = ledger / f"{TASK}/task.yaml"
    file.write_text(file.read_text().replace("brief.md", "breif.md"))
    problems = [str(problem) for problem in check_suite(ledger, "ex", registry)]
    places = [line.split(": ")[0] for line in problems]
    assert places == [
        "suites/ex/configurations/baseline.yaml:12:8",
        "suites/ex/suite.yaml:5:1",
        "suites/ex/suite.yaml:12:1",
        "suites/ex/suite.yaml:37:9",
        f"{TASK}/checks.yaml:17:9",
        f"{TASK}/checks.yaml:21:14",
        f"{TASK}/task.yaml:23:8",
    ]
    assert problems[0].endswith("no agent is named 'replya'; did you mean `replay`?")
    assert problems[3].endswith("no task has a grader `cheks`; did you mean `checks`?")
    assert problems[6].endswith(f"no file `{TASK}/breif.md`; did you mean `brief.md`?")
    with pytest.raises(UserError) as caught:
        load_suite(ledger, "ex", registry)
    assert [str(problem) for problem in caught.value.problems] == problems


@pytest.mark.parametrize(
    ("path", "key", "value", "expected"),
    [
        (SUITE, "suite", "other", "the suite is called `other`, but its folder `ex`"),
        (SUITE, "configurations", ["baseline", "candidat"], "no configuration `candidat`; did you"),
        (SUITE, "compare.baseline", "base", "`base` is not among the suite's configurations; did"),
        (SUITE, "compare.baseline", "candidate", "cannot be compared with itself"),
        (SUITE, "compare.looks", [3], "a look after 3 rounds is none before the end"),
        (SUITE, "accept", "checks and", "expected the name of a grader"),
        (SUITE, "accept", "checks or acceptance", "no task has a grader `acceptance`; add"),
        (SUITE, "toolchain", {"requirements": "r.txt"}, "there is no file `suites/ex/r.txt`"),
        (SUITE, "toolchain", {}, "`toolchain` is empty"),
        (SUITE, "toolchain", {"python": 3.11}, 'text, not `3.11`; write it in quotes: "3.11"'),
        (SUITE, "toolchain", {"python": "2.7"}, "(`2.7`) is no version of Python 3; write"),
        (SUITE, "toolchain", {"prepare": "make"}, "must be a list, not text; write a list: [make]"),
        (SUITE, "toolchain", {"prepare": []}, "`prepare` is empty"),
        (SUITE, "toolchain", {"files": "configurations"}, "nothing uses these files; add `prepare"),
        (SUITE, "toolchain", {"prepare": ["a"], "files": "tools"}, "no folder `suites/ex/tools`"),
        (SUITE, "toolchain", {"prepare": ["a"], "files": "tasks"}, "holds the private part of a"),
        (SUITE, "toolchain", {"image": "python:3.11"}, "is no image by digest; write name@sha256"),
        (SUITE, "toolchain", {"image": {"archive": "i.tar"}}, "the key `sha256` is missing"),
        (
            SUITE,
            "toolchain",
            {"image": {"archive": "i.tar", "sha256": SHA256}},
            "no file `suites/ex",
        ),
        (
            SUITE,
            "toolchain",
            {"image": {"archive": "suite.yaml", "sha256": SHA256}},
            "this is not the archive's sha256; it has ",
        ),
        (
            SUITE,
            "toolchain",
            {"image": f"x@sha256:{SHA256}", "python": "3.11"},
            "`python` cannot stand beside `image`: an image is all that there is",
        ),
        (CONFIGURATION, "configuration", "x", "is called `x`, but its file `baseline.yaml`"),
        (CONFIGURATION, "sandbox", "bubblewrapp", "no sandbox is named 'bubblewrapp'"),
        (CONFIGURATION, "with", {"speed": 1}, "unknown key `speed`"),
        (CONFIGURATION, "instructions", "basline", "basline`; did you mean `baseline`?"),
        (CONFIGURATION, "files", "recordings/{job}", "unknown placeholder `{job}`; known are"),
        (CONFIGURATION, "files", "recordings/{tsk}", "unknown placeholder `{tsk}`; did you mean"),
        (CONFIGURATION, "files", "recordings/{task!r}", "unknown placeholder `{task}`"),
        (CONFIGURATION, "files", "recordings/{", "lone brace"),
        (CONFIGURATION, "files", "r/{task}/{repetition}", "r/greet-strangers/1`, and 2 more"),
        (CONFIGURATION, "files", "../{task}", "must be a relative path without `..`"),
        (CONFIGURATION, "files", "tasks/{task}", "get the private part of a task"),
        (CONFIGURATION, "files", ".", "get the private part of a task"),
        (CONFIGURATION, "secrets", [{"a": 1}], "must be text, not a mapping"),
        (SUITE, "repetitions", 10**12, "`repetitions` must be at most 1000"),
        (CONFIGURATION, "gives_reference", True, "no reference to give in task greet-strangers"),
        (CONFIGURATION, "secrets", "KEY", "must be a list, not text; write a list: [KEY]"),
        (f"{TASK}/task.yaml", "expected_outcomes", {"basline": "accepted"}, "did you mean `base"),
        (f"{TASK}/task.yaml", "task", "x", "is called `x`, but its folder `greet-strangers`"),
        (f"{TASK}/task.yaml", "brief", "../../suite.yaml", "relative path without `..`"),
        (f"{TASK}/task.yaml", "brief", "snapshot", "`suites/ex/tasks/greet-strangers/snapshot` is"),
        (f"{TASK}/task.yaml", "graders", [{"cheks": "a"}], "no grader is named 'cheks'; did you"),
        (f"{TASK}/task.yaml", "graders.0.checks", "x.yaml", "x.yaml: there is no such file"),
        (f"{TASK}/task.yaml", "graders.0.checks", "/etc/x", "etc/x` is outside of the task's"),
        (f"{TASK}/task.yaml", "graders.0.checks", {"fil": "a"}, "unknown key `fil`; did you mean"),
        (f"{TASK}/task.yaml", "graders.1", {"checks": "checks.yaml"}, "`checks` is named twice"),
        (f"{TASK}/task.yaml", "snapshot", {"folder": "snap"}, "snap`; did you mean `snapshot`?"),
        (f"{TASK}/task.yaml", "snapshot", {"folder": "/tmp"}, "must be a relative path"),
        (f"{TASK}/task.yaml", "snapshot", {"folder": "../../../../x"}, "leads out of the suite"),
        (f"{TASK}/task.yaml", "snapshot", {"folder": "."}, "holds the private part of a task"),
        (f"{TASK}/task.yaml", "snapshot", {"folder": "../.."}, "holds the private part of a task"),
        (f"{TASK}/task.yaml", "snapshot.path", "src", "there is no folder"),
        (f"{TASK}/task.yaml", "snapshot", {"git": "../x", "commit": COMMIT}, "no repository `"),
        (f"{TASK}/task.yaml", "snapshot", {"archive": "a.tar", "sha256": SHA256}, "no file"),
        (f"{TASK}/task.yaml", "reference", "private/x.patch", "there is no file"),
        (f"{TASK}/task.yaml", "reference", {"overlay": "private/x"}, "there is no folder"),
    ],
)
def test_a_mistake_is_found(
    ledger: Path, registry: Registry, path: str, key: str, value: object, expected: str
) -> None:
    change(ledger, path, (key, value))
    problems = said(ledger, registry)
    assert any(expected in problem for problem in problems), problems


def test_a_policy_is_checked_against_each_task(ledger: Path, registry: Registry) -> None:
    shutil.copytree(ledger / TASK, ledger / "suites/ex/tasks/other")
    change(ledger, "suites/ex/tasks/other/task.yaml", ("task", "other"))
    change(ledger, "suites/ex/tasks/other/task.yaml", ("graders", [{"acceptance": {}}]))
    problems = said(ledger, registry)
    assert any("task other has no grader `checks`" in problem for problem in problems)


def test_names_have_a_form_and_some_are_taken(ledger: Path, registry: Registry) -> None:
    for name in ("Upper", "a..b", "incidents", "x" * 65):
        shutil.copytree(ledger / TASK, ledger / "suites/ex/tasks" / name)
    problems = said(ledger, registry)
    for name in ("Upper", "a..b", "x" * 65):
        assert any(f"tasks/{name}: {name!r} is not a usable name" in one for one in problems)
    assert any("'incidents' is the name of something else in a run" in one for one in problems)


def test_what_is_missing_or_stray_is_named(ledger: Path, registry: Registry) -> None:
    (ledger / "suites/ex/tasks/empty").mkdir()
    (ledger / "suites/ex/tasks/.hidden").mkdir()
    (ledger / "suites/ex/configurations/third.yml").write_text("")
    (ledger / f"{TASK}/brief.md").write_text(" \n")
    assert said(ledger, registry) == [
        "suites/ex/configurations/third.yml: this file is not looked at; rename it to third.yaml",
        "suites/ex/tasks/empty/task.yaml: there is no such file; every folder in tasks/ is a task",
        f"{TASK}/brief.md: the brief is empty; write what the agent is asked to do",
    ]


def test_a_suite_without_files_says_what_to_add(ledger: Path, registry: Registry) -> None:
    shutil.rmtree(ledger / "suites/ex")
    (ledger / "suites/ex").mkdir()
    assert said(ledger, registry) == [
        f"{SUITE}: there is no such file",
        "suites/ex/tasks: the suite has no task; trialbook task new ex NAME",
    ]


def test_an_archive_has_to_have_its_digest(ledger: Path, registry: Registry) -> None:
    (ledger / TASK / "a.tar").write_bytes(b"tar")
    change(ledger, f"{TASK}/task.yaml", ("snapshot", {"archive": "a.tar", "sha256": SHA256}))
    actual = hashlib.sha256(b"tar").hexdigest()
    assert said(ledger, registry) == [
        f"{TASK}/task.yaml: this is not the archive's sha256; it has {actual}"
    ]


def test_requirements_have_to_be_pinned(ledger: Path, registry: Registry) -> None:
    (ledger / "suites/ex/requirements.txt").write_text(
        "# comment\n\npytest==9.2.0 \\\n    --hash=sha256:00\nclick>=8  # newest\n"
        "-r other.txt\n--only-binary :all:\nattrs==26.*\nx @ https://a.example/x.whl\n"
        'tomli===2.0.1 ; python_version < "3.12"\n'
    )
    change(ledger, SUITE, ("toolchain", {"requirements": "requirements.txt"}))
    assert [str(problem) for problem in check_suite(ledger, "ex", registry)] == [
        "suites/ex/requirements.txt:5:1: `click>=8` is not pinned; write `name==version`",
        (
            "suites/ex/requirements.txt:6:1: this names another file, which is not frozen; "
            "write its lines here"
        ),
        "suites/ex/requirements.txt:8:1: `attrs==26.*` is not pinned; write `name==version`",
    ]


def test_a_secret_is_not_written_down(ledger: Path, registry: Registry) -> None:
    change(ledger, CONFIGURATION, ("secrets", ["KEY"]), ("environment", {"KEY": "s3cret"}))
    (problem,) = said(ledger, registry)
    assert "`KEY` is a secret" in problem
    assert "s3cret" not in problem


def test_an_agent_gets_the_reference_or_other_files(ledger: Path, registry: Registry) -> None:
    change(ledger, CONFIGURATION, ("gives_reference", True))
    change(ledger, f"{TASK}/task.yaml", ("no_change_expected", True))
    (problem,) = said(ledger, registry)
    assert "an agent that gets the reference gets no other files" in problem


@pytest.mark.parametrize(
    "path",
    [
        SUITE,
        CONFIGURATION,
        f"{TASK}/task.yaml",
        f"{TASK}/brief.md",
        f"{TASK}/checks.yaml",
        f"{TASK}/private/deep/answer.py",
        "suites/ex/instructions/baseline/skill.md",
        "suites/ex/recordings/baseline/greet-strangers/overlay/more.py",
    ],
)
def test_links_out_of_the_suite_are_refused(
    ledger: Path, registry: Registry, tmp_path_factory: pytest.TempPathFactory, path: str
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "file"
    file = ledger / path
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.exists():
        outside.write_bytes(file.read_bytes())
        file.unlink()
    else:
        outside.write_text("secret of the operator")
    file.symlink_to(outside)
    assert any(
        one.startswith(f"{path}: a symbolic link leads out of the suite")
        for one in said(ledger, registry)
    )


def test_a_folder_that_links_out_of_the_suite_is_refused(
    ledger: Path, registry: Registry, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "AGENTS.md").write_text("x")
    shutil.rmtree(ledger / "suites/ex/instructions/baseline")
    (ledger / "suites/ex/instructions/baseline").symlink_to(outside)
    assert any("a symbolic link leads out" in one for one in said(ledger, registry))


def test_links_inside_the_suite_are_fine_and_loops_end(ledger: Path, registry: Registry) -> None:
    instructions = ledger / "suites/ex/instructions/baseline"
    (instructions / "CLAUDE.md").symlink_to("AGENTS.md")
    (instructions / "of-the-snapshot").symlink_to("README.md")
    (instructions / "loop").symlink_to(".")
    digests = load_suite(ledger, "ex", registry).configurations[0].digests
    base = "suites/ex/instructions/baseline"
    assert digests[f"{base}/CLAUDE.md"] == digests[f"{base}/AGENTS.md"]
    assert digests[f"{base}/of-the-snapshot"] == hashlib.sha256(b"README.md").hexdigest()
    assert not any("loop" in path for path in digests)


def test_a_suite_that_links_out_of_the_ledger_is_refused(
    ledger: Path, registry: Registry, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "ex"
    shutil.move(ledger / "suites/ex", outside)
    (ledger / "suites/ex").symlink_to(outside)
    with pytest.raises(UserError, match="leads out of the ledger"):
        check_suite(ledger, "ex", registry)


def test_what_is_no_file_in_a_frozen_folder_is_named(ledger: Path, registry: Registry) -> None:
    (ledger / TASK / "private").mkdir()
    os.mkfifo(ledger / TASK / "private/pipe")
    assert said(ledger, registry) == [
        f"{TASK}/private/pipe: neither a file nor a folder; remove it"
    ]


def test_names_that_are_no_text_do_no_harm(ledger: Path, registry: Registry) -> None:
    folder = os.fsencode(ledger / "suites/ex/instructions/baseline")
    with open(os.path.join(folder, b"caf\xe9.md"), "wb") as file:  # noqa: PTH118, PTH123
        file.write(b"x")
    digests = load_suite(ledger, "ex", registry).configurations[0].digests
    assert '"suites/ex/instructions/baseline/caf\\351.md"' in digests


@pytest.mark.parametrize("name", ["ey", "../ex", ".schemas", "", "EX"])
def test_an_unknown_suite_is_said_with_the_nearest(
    ledger: Path, registry: Registry, name: str
) -> None:
    with pytest.raises(UserError, match="no suite named") as caught:
        check_suite(ledger, name, registry)
    assert "ex" in caught.value.hint


def test_hidden_folders_are_no_suites(ledger: Path) -> None:
    (ledger / "suites/.schemas/suite.yaml").write_text("x: 1")
    (ledger / "suites/notes").mkdir()
    assert suite_names(ledger) == ["ex"]
    assert suite_names(ledger / "suites") == []


PLUGINS = """
class Broken:
    name = "broken"
    version = "1"
    shorthand = "file"
    parameters = {"type": "object"}
    def problems(self, parameters, folder):
        raise ZeroDivisionError("oops")
    def files(self, parameters, folder):
        return ()

class BadSchema(Broken):
    parameters = {"type": "blob"}

class Wandering(Broken):
    def problems(self, parameters, folder):
        return ()
    def files(self, parameters, folder):
        return (folder / "../../suite.yaml",)

class Forgetful(Wandering):
    def files(self, parameters, folder):
        return (folder / "gone.txt",)

class Unmade(Broken):
    def __init__(self):
        raise RuntimeError("no")
"""


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("Broken", "the grader `broken` broke down on these parameters: ZeroDivisionError('oops')"),
        ("BadSchema", "the plugin 'odd' has a broken schema for its parameters"),
        ("Wandering", "`../../suite.yaml` is outside of the task's folder"),
        ("Forgetful", f"there is no `{TASK}/gone.txt`"),
        ("Unmade", "cannot be loaded: RuntimeError('no')"),
    ],
)
def test_a_plugin_that_misbehaves_is_named_and_stops_nothing(
    ledger: Path,
    registry: Registry,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    expected: str,
) -> None:
    (ledger / "odd_plugins_for_suites.py").write_text(PLUGINS)
    monkeypatch.syspath_prepend(str(ledger))
    entry = metadata.EntryPoint("odd", f"odd_plugins_for_suites:{kind}", "trialbook.graders")
    odd = Plugin(group="graders", name="odd", distribution="odd", version="1", entry_point=entry)
    change(ledger, f"{TASK}/task.yaml", ("graders.1", {"odd": "x"}))
    problems = said(ledger, Registry([*registry.all(), odd]))
    assert any(expected in problem for problem in problems), problems


@pytest.mark.slow
def test_the_suites_of_this_repository_are_clean_and_quickly_checked(
    root: Path, registry: Registry
) -> None:
    names = suite_names(root)
    assert "golden-python" in names
    started = time.monotonic()
    for name in names:
        assert check_suite(root, name, registry) == []
    assert time.monotonic() - started < 5


def test_hashes_are_for_every_requirement_or_for_none(ledger: Path, registry: Registry) -> None:
    change(ledger, SUITE, ("toolchain", {"requirements": "requirements.txt"}))
    (ledger / "suites/ex/requirements.txt").write_text(
        f"attrs==26.1 \\\n    --hash=sha256:{SHA256}\n# iniconfig has none\niniconfig==2.1\n"
    )
    (problem,) = map(str, check_suite(ledger, "ex", registry))
    assert problem.startswith(
        "suites/ex/requirements.txt:4:1: `iniconfig==2.1` has no hash, and others have; give"
    )


def test_every_form_of_a_toolchain_is_read_and_its_files_are_frozen(
    ledger: Path, registry: Registry
) -> None:
    tools = ledger / "suites/ex/tools"
    tools.mkdir()
    (tools / "build.sh").write_text("true\n")
    whole = {"python": "3.11", "prepare": ["sh", "build.sh"], "files": "tools"}
    change(ledger, SUITE, ("toolchain", whole))
    change(ledger, f"{TASK}/task.yaml", ("toolchain", {"image": f"x@sha256:{SHA256}"}))
    suite = load_suite(ledger, "ex", registry)
    assert suite.tasks[0].toolchain == Toolchain(image=Image(name=f"x@sha256:{SHA256}"))
    assert "suites/ex/tools/build.sh" in suite.files
    (ledger / TASK / "task.yaml").write_text(
        (ledger / TASK / "task.yaml").read_text().partition("toolchain:")[0]
    )
    made = load_suite(ledger, "ex", registry).tasks[0].toolchain
    assert made is not None
    assert (made.python, made.prepare, made.files) == ("3.11", ("sh", "build.sh"), "tools")
    (tools / "build.sh").write_text("false\n")
    other = load_suite(ledger, "ex", registry).tasks[0].toolchain
    assert other is not None
    assert other.files_sha256 != made.files_sha256
