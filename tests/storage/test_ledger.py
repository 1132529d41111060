from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.storage.conftest import Git, run_files, trial_files

from trialbook.errors import EnvironmentProblem, Refused
from trialbook.storage.ledger import RUN_ATTRIBUTES, Identity, Ledger
from trialbook.system import System

PLAN = "plan demo/first\n\nRun: demo/first\n"
TRIAL = "trial demo/task current r1: accepted\n\nRun: demo/first\n"


@pytest.fixture
def open_ledger(system: System) -> Iterator[Callable[..., Ledger]]:
    opened = []

    def make(root: Path, world: System = system) -> Ledger:
        ledger = Ledger.open(root, world)
        opened.append(ledger)
        return ledger

    yield make
    for ledger in opened:
        ledger.close()


def commit_run(ledger: Ledger) -> tuple[str, str]:
    return ledger.commit(run_files(), PLAN), ledger.commit(trial_files(), TRIAL)


def check_landed(git: Git, ref: str = "HEAD", prefix: str = "") -> None:
    """The run's bytes are in git and on disk, git sees nothing to do there, nothing is left."""
    for path, data in (run_files() | trial_files()).items():
        blob = git.run("cat-file", "blob", f"{ref}:{prefix}{path}")
        assert blob.stdout == data, path
        assert (git.folder / prefix / path).read_bytes() == data, path
    assert git("status", "--porcelain", "--untracked-files=all", "--", f"{prefix}runs") == ""
    git.fsck()
    check_no_leftovers(git)


def count_objects(git: Git) -> int:
    facts = dict(line.split(": ") for line in git("count-objects", "-v").splitlines())
    return int(facts["count"]) + int(facts["in-pack"])


def check_no_leftovers(git: Git) -> None:
    common = git.folder / git("rev-parse", "--git-common-dir").strip()
    left = [path.name for path in common.rglob("*.lock") if path.name != "ledger.lock"]
    assert left == []
    assert [path for path in common.glob("**/trialbook/claims/**/*") if path.is_file()] == []
    assert list(common.glob("**/trialbook/pending/*")) == []
    assert list(common.glob("objects/*/tmp_*")) == []


def make_busy(git: Git) -> None:
    """Every kind of unfinished work that a user may have."""
    top = git.folder
    names = ("modified", "staged", "both", "removed", "gone", "old name", "assumed", "script")
    for name in names:
        (top / name).write_text(f"{name}\nline\n" * 20)
    (top / ".gitignore").write_text("*.log\nruns/\n")
    git("add", "-A")
    git("commit", "-q", "-m", "work")
    for name in ("modified", "both", "assumed"):
        (top / name).write_text("changed\n")
    (top / "staged").write_text("staged\n")
    (top / "new").write_text("new\n")
    git("add", "staged", "both", "new")
    (top / "both").write_text("changed again\n")
    git("rm", "-q", "--cached", "removed")
    (top / "gone").unlink()
    git("mv", "old name", "new näme")
    (top / "script").chmod(0o755)
    (top / "intended").write_text("intended\n")
    git("add", "-N", "intended")
    git("update-index", "--assume-unchanged", "assumed")
    (top / "untracked").mkdir()
    (top / "untracked/file").write_text("mine\n")
    (top / "build.log").write_text("ignored\n")


class TestCommitting:
    def test_each_commit_stands_on_the_one_before_and_holds_exactly_its_files(
        self, git: Git, open_ledger: Callable[..., Ledger]
    ) -> None:
        before = git("rev-parse", "HEAD").strip()
        plan, trial = commit_run(open_ledger(git.folder))
        assert git("rev-list", "HEAD").split() == [trial, plan, before]
        assert git("diff", "--name-status", before, plan).split() == [
            "A", "runs/demo/first/.gitattributes", "A", "runs/demo/first/plan.json"
        ]  # fmt: skip
        added = git("diff", "--name-only", plan, trial).split()
        assert sorted(added) == sorted(trial_files())
        assert git("log", "-1", "--format=%B").rstrip() == TRIAL.rstrip()
        assert git("log", "-1", "--format=%an <%ae> %ad", "--date=iso").strip() == (
            "Test Person <test@example.invalid> 2026-11-30 15:00:00 +0000"
        )
        check_landed(git)

    def test_all_unfinished_work_of_the_user_stays_as_it_was(
        self, git: Git, open_ledger: Callable[..., Ledger]
    ) -> None:
        make_busy(git)
        before = git.state()
        commit_run(open_ledger(git.folder))
        assert git.state() == before
        assert "assumed" in before["index"]
        check_landed(git)

    def test_a_merge_with_conflicts_goes_on_undisturbed(
        self, git: Git, open_ledger: Callable[..., Ledger]
    ) -> None:
        git("checkout", "-q", "-b", "other")
        (git.folder / "README.md").write_text("theirs\n")
        git("commit", "-q", "-a", "-m", "theirs")
        git("checkout", "-q", "main")
        (git.folder / "README.md").write_text("ours\n")
        git("commit", "-q", "-a", "-m", "ours")
        assert git.run("merge", "-q", "other").returncode == 1
        before = git.state()
        assert "\nu " in "\n" + before["status"]
        commit_run(open_ledger(git.folder))
        assert git.state() == before
        (git.folder / "README.md").write_text("both\n")
        git("commit", "-q", "-a", "-m", "merged")
        check_landed(git)
        assert git("log", "-1", "--format=%P").split()[1] == git("rev-parse", "other").strip()

    def test_the_number_of_objects_follows_the_depth_and_not_the_size_of_the_ledger(
        self, git: Git, open_ledger: Callable[..., Ledger]
    ) -> None:
        ledger = open_ledger(git.folder)
        ledger.commit(run_files(), PLAN)
        for number in range(1, 6):
            before = count_objects(git)
            ledger.commit(
                {f"runs/demo/first/task{number}/current/r1/trial.json": b"%d" % number}, TRIAL
            )
            # One blob, seven trees (top, runs, suite, run, task, configuration, trial), one commit.
            assert count_objects(git) - before == 9

    def test_the_reflog_tells_what_happened_as_with_git(
        self, git: Git, open_ledger: Callable[..., Ledger]
    ) -> None:
        commit_run(open_ledger(git.folder))
        for ref in ("HEAD", "main"):
            lines = git("reflog", "show", ref, "--format=%H %gs").splitlines()
            assert lines[0] == (
                git("rev-parse", "HEAD").strip()
                + " trialbook: trial demo/task current r1: accepted"
            )
            assert len(lines) == 3
        git("reset", "-q", "--hard", "HEAD@{1}")
        assert git("log", "-1", "--format=%s").strip() == "plan demo/first"

    def test_the_user_can_commit_check_out_and_merge_afterwards(
        self, git: Git, open_ledger: Callable[..., Ledger]
    ) -> None:
        git("branch", "old")
        commit_run(open_ledger(git.folder))
        (git.folder / "README.md").write_text("more\n")
        git("commit", "-q", "-a", "-m", "more")
        check_landed(git)
        git("checkout", "-q", "old")
        assert not (git.folder / "runs").exists()
        git("merge", "-q", "main")
        check_landed(git)


class TestRefusing:
    def test_the_same_bytes_again_make_no_commit(
        self, git: Git, open_ledger: Callable[..., Ledger]
    ) -> None:
        ledger = open_ledger(git.folder)
        _, trial = commit_run(ledger)
        assert ledger.commit(trial_files(), TRIAL) == trial
        assert ledger.commit(trial_files() | run_files(), TRIAL) == trial
        assert ledger.head() == trial
        more = ledger.commit(trial_files() | trial_files(2), TRIAL)
        assert sorted(git("diff", "--name-only", trial, more).split()) == sorted(trial_files(2))

    def test_other_bytes_at_a_path_are_refused_and_change_nothing(
        self, git: Git, open_ledger: Callable[..., Ledger]
    ) -> None:
        ledger = open_ledger(git.folder)
        _, trial = commit_run(ledger)
        changed = trial_files(2) | {next(iter(trial_files())): b"forged"}
        with pytest.raises(Refused, match=r"trial\.json is in the ledger with other content"):
            ledger.commit(changed, TRIAL)
        assert ledger.head() == trial
        check_landed(git)
        assert not (git.folder / "runs/demo/first/task/current/r2").exists()

    @pytest.mark.parametrize(
        "path",
        [
            "runs/demo/first/plan.json/x",
            "runs/demo/first/task",
        ],
    )
    def test_a_file_is_never_a_folder(
        self, git: Git, open_ledger: Callable[..., Ledger], path: str
    ) -> None:
        ledger = open_ledger(git.folder)
        commit_run(ledger)
        with pytest.raises(Refused, match="is in the ledger"):
            ledger.commit({path: b"x"}, TRIAL)

    @pytest.mark.parametrize(
        "path",
        [
            "README.md",
            "suites/demo/first/x",
            "/runs/demo/first/x",
            "runs/demo/first",
            "runs/demo/../../x/y",
            "runs/demo/first/./x",
            "runs//first/x/y",
            "runs/demo/first/",
            "runs/demo/first/.git/hooks/post-commit",
            "runs/demo/first/x/.GIT",
            "runs/demo/first/git~1/x",
            "runs/demo/first/x/.gitattributes",
            "runs/demo/first/x/.gitmodules",
            "runs/demo/first/.gitignore",
            "runs/demo/.gitattributes/x",
            "runs/demo/first/a\nb",
            "runs/demo/first/a\\b",
            "runs/demo/first/.g\u200cit/x",
            "runs/demo/first/a\udcff",
            "runs/demo/first/a\0b",
            "runs/demo/first/" + "n" * 256,
        ],
    )
    def test_a_path_outside_of_a_run_or_special_to_git_is_refused(
        self, git: Git, open_ledger: Callable[..., Ledger], path: str
    ) -> None:
        ledger = open_ledger(git.folder)
        before = ledger.head()
        with pytest.raises(Refused, match="cannot be written to the ledger: it "):
            ledger.commit(run_files() | {path: b"x"}, TRIAL)
        assert ledger.head() == before
        assert not (git.folder / "runs").exists()

    def test_only_our_own_attributes_can_be_a_runs_attributes(
        self, git: Git, open_ledger: Callable[..., Ledger]
    ) -> None:
        with pytest.raises(Refused, match="holds other attributes"):
            open_ledger(git.folder).commit({"runs/a/b/.gitattributes": b"* filter=x\n"}, PLAN)

    def test_no_files_are_no_commit(self, git: Git, open_ledger: Callable[..., Ledger]) -> None:
        with pytest.raises(Refused, match="without files"):
            open_ledger(git.folder).commit({}, PLAN)

    def test_a_folder_outside_of_any_repository_is_explained(
        self, tmp_path: Path, open_ledger: Callable[..., Ledger]
    ) -> None:
        with pytest.raises(EnvironmentProblem, match="is not in a git repository"):
            open_ledger(tmp_path)

    def test_a_sha256_repository_is_refused(
        self, make_repository: Callable[..., Git], open_ledger: Callable[..., Ledger]
    ) -> None:
        git = make_repository("other", "--object-format=sha256")
        with pytest.raises(EnvironmentProblem, match="of the kind sha256"):
            open_ledger(git.folder)


class TestSituations:
    def test_an_unborn_branch_gets_its_first_commit(
        self, make_repository: Callable[..., Git], open_ledger: Callable[..., Ledger]
    ) -> None:
        git = make_repository("new", unborn=True)
        (git.folder / "staged").write_text("s")
        git("add", "staged")
        ledger = open_ledger(git.folder)
        assert (ledger.ref, ledger.head()) == ("refs/heads/main", None)
        plan, _ = commit_run(ledger)
        assert git("rev-list", "--max-parents=0", "main").strip() == plan
        assert git("status", "--porcelain").splitlines() == ["A  staged"]
        check_landed(git)

    def test_a_detached_head_moves_and_no_branch_does(
        self, git: Git, open_ledger: Callable[..., Ledger]
    ) -> None:
        before = git("rev-parse", "main")
        git("checkout", "-q", "--detach")
        ledger = open_ledger(git.folder)
        assert ledger.ref == "HEAD"
        _, trial = commit_run(ledger)
        assert git("rev-parse", "HEAD").strip() == trial
        assert git("rev-parse", "main") == before
        assert git.run("symbolic-ref", "HEAD").returncode != 0
        check_landed(git)

    def test_a_detached_head_that_is_attached_meanwhile_is_left_alone(
        self, git: Git, open_ledger: Callable[..., Ledger]
    ) -> None:
        git("checkout", "-q", "--detach")
        ledger = open_ledger(git.folder)
        plan = ledger.commit(run_files(), PLAN)
        git("checkout", "-q", "main")
        before = git.state()
        with pytest.raises(EnvironmentProblem, match="now names refs/heads/main") as caught:
            ledger.commit(trial_files(), TRIAL)
        assert plan in caught.value.hint
        assert git.state() == before

    def test_a_linked_work_tree_has_its_own_head_index_and_notes(
        self, git: Git, open_ledger: Callable[..., Ledger], tmp_path: Path
    ) -> None:
        git("worktree", "add", "-q", "-b", "side", str(tmp_path / "linked"))
        linked = Git(tmp_path / "linked")
        make_busy(linked)
        before, main = linked.state(), git.state()
        ledger = open_ledger(linked.folder)
        assert ledger.ref == "refs/heads/side"
        assert ledger.state_folder("demo", "first") == git.folder / ".git/trialbook/runs/demo/first"
        commit_run(ledger)
        assert linked.state() == before
        assert git.state() == main
        check_landed(linked)
        assert git("ls-tree", "main", "runs") == ""

    def test_a_bare_repository_gets_commits_and_nothing_else(
        self, tmp_path: Path, open_ledger: Callable[..., Ledger]
    ) -> None:
        folder = tmp_path / "bare.git"
        folder.mkdir()
        git = Git(folder)
        git("init", "-q", "--bare", "-b", "main")
        commit_run(open_ledger(folder))
        names = git("ls-tree", "-r", "--name-only", "main").split()
        assert sorted(names) == sorted(run_files() | trial_files())
        assert not (folder / "index").exists()
        assert not (folder / "runs").exists()
        git.fsck()
        check_no_leftovers(git)

    def test_a_bare_repository_with_linked_work_trees(
        self, git: Git, tmp_path: Path, open_ledger: Callable[..., Ledger]
    ) -> None:
        Git(tmp_path)("clone", "-q", "--bare", str(git.folder), "bare.git")
        Git(tmp_path / "bare.git")("worktree", "add", "-q", str(tmp_path / "linked"), "main")
        linked = Git(tmp_path / "linked")
        commit_run(open_ledger(linked.folder))
        check_landed(linked)

    def test_a_ledger_in_a_subfolder_writes_below_it(
        self, git: Git, open_ledger: Callable[..., Ledger]
    ) -> None:
        root = git.folder / "teams/eväls"
        root.mkdir(parents=True)
        (git.folder / "runs").mkdir()
        (git.folder / "runs/other").write_text("not ours\n")
        before = git.state()
        commit_run(open_ledger(root))
        check_landed(git, prefix="teams/eväls/")
        assert git.state() == before

    def test_a_root_behind_a_link_is_found(
        self, git: Git, tmp_path: Path, open_ledger: Callable[..., Ledger]
    ) -> None:
        (tmp_path / "link").symlink_to(git.folder)
        commit_run(open_ledger(tmp_path / "link"))
        check_landed(git)

    def test_line_ends_filters_and_keywords_of_the_user_do_not_reach_a_run(
        self, git: Git, open_ledger: Callable[..., Ledger], tmp_path: Path
    ) -> None:
        git("config", "filter.evil.clean", f"touch {tmp_path}/ran; tr a-z A-Z")
        git("config", "filter.evil.smudge", f"touch {tmp_path}/ran; tr a-z A-Z")
        git("config", "filter.evil.required", "true")
        (git.folder / ".gitattributes").write_text(
            "*.txt text eol=crlf filter=evil ident working-tree-encoding=UTF-16\n"
            "*.patch binary\n*.json -diff filter=evil\n"
        )
        git("add", ".gitattributes")
        git("commit", "-q", "-m", "attributes")
        git("config", "core.autocrlf", "true")
        git("config", "core.safecrlf", "true")
        commit_run(open_ledger(git.folder))
        check_landed(git)
        shown = git("show", "--format=", "HEAD")
        assert "+--- a/x" in shown
        assert '+{"repetition": 1' in shown
        assert git("show", "--check", "--format=", "HEAD") == ""
        git("worktree", "add", "-q", str(tmp_path / "fresh"), "-b", "fresh")
        check_landed(Git(tmp_path / "fresh"))
        assert not (tmp_path / "ran").exists()

    @pytest.mark.parametrize("configured", [False, True])
    def test_no_hook_and_no_file_system_monitor_runs(
        self, git: Git, open_ledger: Callable[..., Ledger], tmp_path: Path, configured: bool
    ) -> None:
        hooks = tmp_path / "hooks" if configured else git.folder / ".git/hooks"
        hooks.mkdir(exist_ok=True)
        for name in (
            "pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "post-index-change",
            "reference-transaction", "pre-auto-gc", "post-rewrite", "fsmonitor-watchman", "update",
        ):  # fmt: skip
            (hooks / name).write_text(f"#!/bin/sh\necho {name} >> {tmp_path}/ran\nexit 1\n")
            (hooks / name).chmod(0o755)
        if configured:
            git("config", "core.hooksPath", str(hooks))
        git("config", "core.fsmonitor", str(hooks / "fsmonitor-watchman"))
        commit_run(open_ledger(git.folder))
        assert not (tmp_path / "ran").exists()
        git("config", "--unset", "core.fsmonitor")
        for hook in hooks.iterdir():
            hook.unlink()
        check_landed(git)

    def test_without_an_identity_a_clear_one_stands_in(
        self, git: Git, open_ledger: Callable[..., Ledger], system: System, tmp_path: Path
    ) -> None:
        nowhere = replace(
            system, environ={"HOME": str(tmp_path / "nowhere"), "GIT_CONFIG_NOSYSTEM": "1"}
        )
        ledger = open_ledger(git.folder, nowhere)
        assert ledger.identity == Identity("trialbook", "trialbook@localhost", fallback=True)
        assert "git config user.name" in ledger.warnings[0]
        commit_run(ledger)
        assert git("log", "-1", "--format=%an <%ae>, %cn <%ce>").strip() == (
            "trialbook <trialbook@localhost>, trialbook <trialbook@localhost>"
        )
        check_landed(git)

    def test_a_strange_name_cannot_break_a_commit(
        self, git: Git, open_ledger: Callable[..., Ledger], system: System
    ) -> None:
        odd = {"GIT_AUTHOR_NAME": "A <b>\nparent x", "GIT_AUTHOR_EMAIL": "<e@x>\n"}
        ledger = open_ledger(git.folder, replace(system, environ={**system.environ, **odd}))
        assert ledger.identity == Identity("A b parent x", "e@x", fallback=False)
        commit_run(ledger)
        check_landed(git)

    @pytest.mark.parametrize(
        "settings",
        [
            {"core.splitIndex": "true"},
            {"index.version": "4"},
            {"core.untrackedCache": "true"},
            {"feature.manyFiles": "true"},
            {"core.sharedRepository": "group"},
            {"core.logAllRefUpdates": "false"},
            {"core.logAllRefUpdates": "always"},
            {"core.fsyncObjectFiles": "true"},
            {"core.ignoreCase": "true"},
        ],
        ids=str,
    )
    def test_settings_of_the_repository_that_change_how_git_stores(
        self, git: Git, open_ledger: Callable[..., Ledger], settings: dict[str, str]
    ) -> None:
        for key, value in settings.items():
            git("config", key, value)
        git("update-index", "--refresh")
        make_busy(git)
        before = git.state()
        commit_run(open_ledger(git.folder))
        assert git.state() == before
        check_landed(git)

    def test_a_sparse_checkout_with_a_sparse_index(
        self, git: Git, open_ledger: Callable[..., Ledger]
    ) -> None:
        for folder in ("kept", "left/out"):
            (git.folder / folder).mkdir(parents=True)
            (git.folder / folder / "f").write_text("f")
        git("add", "-A")
        git("commit", "-q", "-m", "folders")
        git("sparse-checkout", "init", "--cone", "--sparse-index")
        git("sparse-checkout", "set", "kept")
        before = git.state()["status"]
        commit_run(open_ledger(git.folder))
        assert git.state()["status"] == before
        assert not (git.folder / "left").exists()
        check_landed(git)

    def test_packed_objects_and_refs(self, git: Git, open_ledger: Callable[..., Ledger]) -> None:
        ledger = open_ledger(git.folder)
        ledger.commit(run_files(), PLAN)
        git("pack-refs", "--all", "--prune")
        git("gc", "-q", "--prune=now")
        assert not (git.folder / ".git/refs/heads/main").exists()
        ledger.commit(trial_files(), TRIAL)
        check_landed(git)

    def test_the_environment_of_git_does_not_lead_elsewhere(
        self,
        git: Git,
        make_repository: Callable[..., Git],
        open_ledger: Callable[..., Ledger],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        other = make_repository("elsewhere")
        before = other.state()
        with monkeypatch.context() as patch:
            patch.setenv("GIT_DIR", str(other.folder / ".git"))
            patch.setenv("GIT_WORK_TREE", str(other.folder))
            patch.setenv("GIT_INDEX_FILE", str(other.folder / ".git/index"))
            patch.setenv("GIT_OBJECT_DIRECTORY", str(other.folder / ".git/objects"))
            commit_run(open_ledger(git.folder))
        check_landed(git)
        assert other.state() == before


class TestMeanwhile:
    def test_another_branch_checked_out_in_a_run_is_not_touched(
        self, git: Git, open_ledger: Callable[..., Ledger]
    ) -> None:
        ledger = open_ledger(git.folder)
        ledger.commit(run_files(), PLAN)
        git("checkout", "-q", "-b", "other", "main~1")
        before = git.state()
        trial = ledger.commit(trial_files(), TRIAL)
        assert git.state() == before
        assert not (git.folder / "runs").exists()
        assert git("rev-parse", "main").strip() == trial
        git("checkout", "-q", "main")
        check_landed(git)
        ledger.commit(trial_files(2), TRIAL)
        assert git("status", "--porcelain") == ""

    def test_a_commit_of_the_users_in_between_is_built_upon(
        self, git: Git, open_ledger: Callable[..., Ledger]
    ) -> None:
        ledger = open_ledger(git.folder)
        ledger.commit(run_files(), PLAN)
        git("commit", "-q", "--allow-empty", "-m", "mine")
        mine = git("rev-parse", "HEAD").strip()
        ledger.commit(trial_files(), TRIAL)
        assert git("rev-parse", "HEAD~1").strip() == mine
        check_landed(git)

    def test_history_that_is_rewritten_without_the_run_gets_it_back(
        self, git: Git, open_ledger: Callable[..., Ledger]
    ) -> None:
        ledger = open_ledger(git.folder)
        ledger.commit(run_files(), PLAN)
        git("reset", "-q", "--hard", "HEAD~1")
        assert not (git.folder / "runs").exists()
        ledger.commit(trial_files(), TRIAL)
        assert "had lost 2 files" in ledger.warnings[0]
        check_landed(git)

    def test_a_branch_that_is_gone_is_not_made_anew(
        self, git: Git, open_ledger: Callable[..., Ledger]
    ) -> None:
        ledger = open_ledger(git.folder)
        plan = ledger.commit(run_files(), PLAN)
        git("checkout", "-q", "-b", "other")
        git("branch", "-q", "-D", "main")
        with pytest.raises(EnvironmentProblem, match=r"refs/heads/main.* is gone") as caught:
            ledger.commit(trial_files(), TRIAL)
        assert plan in caught.value.hint

    def test_two_ledgers_of_one_repository_take_turns(
        self, git: Git, open_ledger: Callable[..., Ledger]
    ) -> None:
        one, two = open_ledger(git.folder), open_ledger(git.folder)
        one.commit(run_files(), PLAN)
        two.commit(run_files("second"), PLAN)
        one.commit(trial_files(), TRIAL)
        assert (one.warnings, two.warnings) == ([], [])
        assert one.head() == two.head()
        check_landed(git)


class TestTrouble:
    def test_a_locked_index_delays_only_the_index(
        self, git: Git, open_ledger: Callable[..., Ledger]
    ) -> None:
        make_busy(git)
        before = git.state()
        ledger = open_ledger(git.folder)
        ledger.commit(run_files(), PLAN)
        lock = git.folder / ".git/index.lock"
        lock.write_bytes(b"")
        trial = ledger.commit(trial_files(), TRIAL)
        assert git("rev-parse", "main").strip() == trial
        assert lock.read_bytes() == b""
        assert len(ledger.warnings) == 1
        assert str(lock) in ledger.warnings[0]
        assert "remove the file" in ledger.warnings[0]
        assert not ledger.sync("runs/demo/first")
        assert ledger.sync("runs/demo/other")
        lock.unlink()
        assert ledger.sync("runs/demo/first")
        assert git.state() == before
        check_landed(git)

    def test_the_next_commit_makes_up_for_a_locked_index(
        self, git: Git, open_ledger: Callable[..., Ledger]
    ) -> None:
        ledger = open_ledger(git.folder)
        ledger.commit(run_files(), PLAN)
        lock = git.folder / ".git/index.lock"
        lock.touch()
        ledger.commit(trial_files(), TRIAL)
        lock.unlink()
        ledger.commit(trial_files(2), TRIAL)
        assert git("status", "--porcelain") == ""
        check_landed(git)

    @pytest.mark.slow
    def test_a_lock_on_the_branch_that_stays_is_named_with_its_age(
        self, git: Git, open_ledger: Callable[..., Ledger], system: System
    ) -> None:
        make_busy(git)
        before = git.state()
        ledger = open_ledger(git.folder)
        lock = git.folder / ".git/refs/heads/main.lock"
        lock.touch()
        then = system.now().timestamp() - 3600
        os.utime(lock, (then, then))
        with pytest.raises(EnvironmentProblem, match="3600 seconds") as caught:
            ledger.commit(run_files(), PLAN)
        assert str(lock) in caught.value.message
        assert "remove that file" in caught.value.hint
        assert git.state() == before
        assert not (git.folder / "runs").exists()
        lock.unlink()
        commit_run(ledger)
        check_landed(git)

    def test_without_a_git_executable_commits_land_and_a_warning_says_what_is_missing(
        self,
        git: Git,
        open_ledger: Callable[..., Ledger],
        monkeypatch: pytest.MonkeyPatch,
        tmp_path: Path,
    ) -> None:
        ledger = open_ledger(git.folder)
        with monkeypatch.context() as patch:
            patch.setenv("PATH", str(tmp_path))
            _, trial = commit_run(ledger)
        assert git("rev-parse", "main").strip() == trial
        assert len(ledger.warnings) == 1
        assert "git is not installed" in ledger.warnings[0]
        assert ledger.sync()
        check_landed(git)

    def test_another_file_in_the_way_is_kept_aside(
        self, git: Git, open_ledger: Callable[..., Ledger]
    ) -> None:
        place = git.folder / "runs/demo/first/plan.json"
        place.parent.mkdir(parents=True)
        place.write_text("precious\n")
        ledger = open_ledger(git.folder)
        commit_run(ledger)
        check_landed(git)
        kept = list((git.folder / ".git/trialbook/displaced").rglob("plan.json"))
        assert [path.read_text() for path in kept] == ["precious\n"]

    def test_a_link_out_of_the_work_tree_is_never_written_through(
        self, git: Git, open_ledger: Callable[..., Ledger], tmp_path: Path
    ) -> None:
        outside = tmp_path / "outside"
        outside.mkdir()
        (git.folder / "runs").symlink_to(outside)
        ledger = open_ledger(git.folder)
        commit_run(ledger)
        assert list(outside.iterdir()) == []
        assert "is not a folder" in ledger.warnings[0]
        (git.folder / "runs").unlink()
        assert ledger.sync()
        check_landed(git)

    def test_a_tracked_link_named_runs_is_refused(
        self, git: Git, open_ledger: Callable[..., Ledger]
    ) -> None:
        (git.folder / "runs").symlink_to("elsewhere")
        git("add", "runs")
        git("commit", "-q", "-m", "link")
        with pytest.raises(Refused, match="runs is in the ledger and is no folder"):
            commit_run(open_ledger(git.folder))

    def test_a_damaged_branch_is_never_started_anew(
        self, git: Git, open_ledger: Callable[..., Ledger]
    ) -> None:
        ledger = open_ledger(git.folder)
        (git.folder / ".git/refs/heads/main").write_bytes(b"")
        with pytest.raises(EnvironmentProblem, match=r"refs/heads/main is damaged"):
            commit_run(ledger)
        assert (git.folder / ".git/refs/heads/main").read_bytes() == b""


class TestCrashes:
    """What a killed process may leave at each step, set up by hand."""

    def leave_placed(self, git: Git, ledger: Ledger) -> None:
        """Files and index entries are in place, the branch has not moved."""
        lock = git.folder / ".git/refs/heads/main.lock"
        lock.touch()
        monkey = pytest.MonkeyPatch()
        monkey.setattr(Ledger, "_settle", lambda *_: True)
        with pytest.raises(EnvironmentProblem):
            ledger.commit(trial_files(text="killed"), TRIAL)
        monkey.undo()
        lock.unlink()
        assert "\nA  runs/" in "\n" + git("status", "--porcelain")

    @pytest.mark.slow
    def test_files_that_no_commit_has_are_taken_back(
        self, git: Git, open_ledger: Callable[..., Ledger]
    ) -> None:
        make_busy(git)
        before = git.state()
        ledger = open_ledger(git.folder)
        ledger.commit(run_files(), PLAN)
        self.leave_placed(git, ledger)
        assert open_ledger(git.folder).sync("runs/demo/first")
        assert git.state() == before
        assert not (git.folder / "runs/demo/first/task").exists()
        check_no_leftovers(git)

    @pytest.mark.slow
    def test_another_try_with_other_bytes_replaces_them(
        self, git: Git, open_ledger: Callable[..., Ledger]
    ) -> None:
        ledger = open_ledger(git.folder)
        ledger.commit(run_files(), PLAN)
        self.leave_placed(git, ledger)
        again = open_ledger(git.folder)
        again.commit(trial_files(), TRIAL)
        check_landed(git)
        assert again.warnings == []
        assert not (git.folder / ".git/trialbook/displaced").exists()

    @pytest.mark.slow
    def test_what_the_user_changed_meanwhile_stays(
        self, git: Git, open_ledger: Callable[..., Ledger]
    ) -> None:
        ledger = open_ledger(git.folder)
        ledger.commit(run_files(), PLAN)
        self.leave_placed(git, ledger)
        base = git.folder / "runs/demo/first/task/current/r1"
        (base / "trial.json").write_text("edited\n")
        (base / "notes.md").write_text("mine\n")
        (base / "change.patch").write_text("edited and staged\n")
        git("add", "runs/demo/first/task/current/r1/change.patch")
        assert open_ledger(git.folder).sync()
        assert (base / "trial.json").read_text() == "edited\n"
        assert git("status", "--porcelain", "--untracked-files=all").splitlines() == [
            "A  runs/demo/first/task/current/r1/change.patch",
            "?? runs/demo/first/task/current/r1/notes.md",
            "?? runs/demo/first/task/current/r1/trial.json",
        ]

    @pytest.mark.slow
    def test_a_commit_by_the_user_that_took_them_along_counts(
        self, git: Git, open_ledger: Callable[..., Ledger]
    ) -> None:
        ledger = open_ledger(git.folder)
        ledger.commit(run_files(), PLAN)
        self.leave_placed(git, ledger)
        git("commit", "-q", "-m", "whatever is staged")
        again = open_ledger(git.folder)
        head = again.head()
        assert again.sync()
        assert again.commit(trial_files(text="killed"), TRIAL) == head
        assert git("status", "--porcelain") == ""
        check_no_leftovers(git)

    @pytest.mark.slow
    def test_half_written_files_are_cleared_away(
        self, git: Git, open_ledger: Callable[..., Ledger]
    ) -> None:
        ledger = open_ledger(git.folder)
        ledger.commit(run_files(), PLAN)
        self.leave_placed(git, ledger)
        base = git.folder / "runs/demo/first/task/current/r1"
        (base / ".trialbook-tmp-1-2").write_text("ha")
        assert open_ledger(git.folder).sync()
        assert git("status", "--porcelain", "--untracked-files=all") == ""

    @pytest.mark.parametrize("name", ["refs/heads/main.lock", "index.lock"])
    def test_our_own_lock_of_a_killed_process_is_removed(
        self, git: Git, open_ledger: Callable[..., Ledger], name: str
    ) -> None:
        note = git.folder / ".git/trialbook/claims" / name
        note.parent.mkdir(parents=True)
        note.write_bytes(b"trialbook 00ff\n")
        (git.folder / ".git" / name).write_bytes(b"trialbook 00ff\n")
        commit_run(open_ledger(git.folder))
        check_landed(git)

    @pytest.mark.slow
    def test_a_strangers_lock_is_not_taken_for_ours(
        self, git: Git, open_ledger: Callable[..., Ledger]
    ) -> None:
        note = git.folder / ".git/trialbook/claims/refs/heads/main.lock"
        note.parent.mkdir(parents=True)
        note.write_bytes(b"1" * 40 + b"\n")
        lock = git.folder / ".git/refs/heads/main.lock"
        lock.write_bytes(b"2" * 40 + b"\n")
        with pytest.raises(EnvironmentProblem, match="is locked"):
            commit_run(open_ledger(git.folder))
        assert lock.exists()


def test_the_attributes_file_is_read_by_git_without_complaint(git: Git) -> None:
    (git.folder / ".gitattributes").write_bytes(RUN_ATTRIBUTES)
    done = git.run("check-attr", "-a", "--", "x.txt")
    assert done.stderr == b""
    assert b"x.txt: text: unset" in done.stdout
    assert git("diff", "--stat") == ""


def test_opening_and_reading_a_ledger_writes_nothing(
    git: Git, open_ledger: Callable[..., Ledger]
) -> None:
    before = subprocess.run(["find", str(git.folder)], capture_output=True, check=True).stdout
    ledger = open_ledger(git.folder)
    assert ledger.head() is not None
    after = subprocess.run(["find", str(git.folder)], capture_output=True, check=True).stdout
    assert after == before
