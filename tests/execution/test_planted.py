from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.nasty_tree import git, write

from trialbook.execution.planted import planted_git
from trialbook.model.evidence import SightingSeverity


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A workspace with a plain repository."""
    git(tmp_path, "-c", "init.templateDir=", "init", "-q", "work")
    return tmp_path / "work"


def configured(work: Path, text: str) -> None:
    with (work / ".git/config").open("a") as file:
        file.write(text)


def test_a_plain_repository_shows_nothing(work: Path) -> None:
    git(work, "config", "user.name", "Agent")
    git(work, "commit", "-q", "--allow-empty", "-m", "work")
    write(work, ".git/hooks/pre-commit.sample", b"#!/bin/sh\n")
    assert planted_git(work) == ()


@pytest.mark.parametrize(
    ("text", "setting"),
    [
        ("[core]\n\tfsmonitor = ./evil\n", "core.fsmonitor"),
        ("[core]\n\thooksPath = .\n", "core.hookspath"),
        ("[CORE] sshCommand = evil\n", "core.sshcommand"),
        ('[filter "x"]\n\tclean = evil\n', "filter.x.clean"),
        ('[diff "x"]\n\ttextconv = evil\n', "diff.x.textconv"),
        ("[diff]\n\texternal = evil\n", "diff.external"),
        ('[merge "x"]\n\tdriver = evil\n', "merge.x.driver"),
        ("[alias]\n\tst = !evil\n", "alias.st"),
        ("[include]\n\tpath = ../x\n", "include.path"),
        ('[includeIf "gitdir:/"]\n\tpath = ../x\n', "includeif.gitdir:/.path"),
        ('[url "ext::evil"]\n\tinsteadOf = https://\n', "url.ext::evil.insteadof"),
        ("[credential]\n\thelper = !evil\n", "credential.helper"),
        ("[gpg]\n\tprogram = evil\n", "gpg.program"),
        ('[gpg "ssh"]\n\tdefaultKeyCommand = evil\n', "gpg.ssh.defaultkeycommand"),
        ("[pager]\n\tstatus = evil\n", "pager.status"),
        ('[submodule "x"]\n\tupdate = !evil\n', "submodule.x.update"),
        ('[tar "x"]\n\tcommand = evil\n', "tar.x.command"),
        ('[protocol "ext"]\n\tallow = always\n', "protocol.ext.allow"),
        ('[lfs "customtransfer.x"]\n\tpath = evil\n', "lfs.customtransfer.x.path"),
        ('[filter "a\\"b"]\n\tclean = evil\n', 'filter.a"b.clean'),
        ("[core]\n\tx = a # \\\n\tfsmonitor = evil\n", "core.fsmonitor"),
        ("[core]\n\tx = a \\\n[user]\n\tfsmonitor = evil\n", "core.fsmonitor"),
        ('[core]\n\tx = "a # \\\n[user]" \\\n[user]\n\tfsmonitor = evil\n', "core.fsmonitor"),
        ("[user]\n\tx = a # \\\n[core]\n\tfsmonitor = evil\n", "core.fsmonitor"),
    ],
)
def test_a_setting_by_which_git_runs_something_is_seen(work: Path, text: str, setting: str) -> None:
    before = len((work / ".git/config").read_text().splitlines())
    configured(work, text)
    # The control: git takes it as well.
    names = git(work, "config", "--file", ".git/config", "--list", "--name-only")
    assert setting in names.decode().splitlines()
    (found,) = planted_git(work)
    assert found.severity is SightingSeverity.FLAG
    assert found.detail == f"it sets {setting}"
    assert found.path == ".git/config"
    assert found.line == before + len(text.splitlines())


@pytest.mark.parametrize(
    "text",
    [
        "[core]\n\tfsmonitor = true\n",
        "[core]\n\tautocrlf = false\n",
        "[color]\n\tui = never\n",
        "[pull]\n\trebase = true\n",
        '[branch "main"]\n\tdescription = x\n',
        "[pager]\n\tlog = false\n",
        '[submodule "x"]\n\tupdate = rebase\n',
        "[user]\n\tname = a \\\n[core] \\\n  fsmonitor = evil\n",
    ],
)
def test_harmless_settings_are_none(work: Path, text: str) -> None:
    configured(work, text)
    assert planted_git(work) == ()


def test_names_of_any_length_and_a_mark_at_the_beginning_hide_nothing(work: Path) -> None:
    text = (work / ".git/config").read_text()
    filters = f'[filter "{"x" * 1000}"]\n\tclean = evil\n'
    (work / ".git/config").write_text(f"\ufeff[core]\n\tfsmonitor = evil\n{text}{filters}")
    first, second = planted_git(work)
    assert (first.line, first.detail) == (2, "it sets core.fsmonitor")
    assert second.detail.startswith("it sets filter.xxx")
    assert second.detail.endswith("xxx.clean")
    assert len(second.detail) < 200


def test_a_value_on_very_many_lines_takes_no_time(work: Path) -> None:
    configured(work, "[user]\n\tname = " + "a\\\n" * 120_000)
    assert planted_git(work) == ()


def test_hooks_attributes_and_alternates_are_seen(work: Path) -> None:
    write(work, ".git/hooks/post-checkout", b"#!/bin/sh\n", 0o755)
    write(work, ".git/info/attributes", b"* filter=x\n")
    write(work, ".git/objects/info/alternates", b"/srv/objects\n")
    assert {one.path for one in planted_git(work)} == {
        ".git/hooks/post-checkout",
        ".git/info/attributes",
        ".git/objects/info/alternates",
    }


def test_what_is_no_repository_any_more_is_told(work: Path, tmp_path: Path) -> None:
    (work / ".git").rename(tmp_path / "moved")
    assert planted_git(work) == ()
    (work / ".git").write_text("gitdir: ../moved\n")
    assert "no folder any more" in planted_git(work)[0].detail
    (work / ".git").unlink()
    (work / ".git").symlink_to(tmp_path / "moved")
    assert "no folder any more" in planted_git(work)[0].detail


def test_hostile_files_do_no_harm(work: Path) -> None:
    (work / ".git/config").unlink()
    os.mkfifo(work / ".git/config")
    for number in range(30):
        write(work, b".git/hooks/h\xff\n%d" % number, b"x")
    found = planted_git(work)
    assert len(found) == 11
    assert all("\n" not in (one.path or "") for one in found)
    (work / ".git/hooks").rename(work / "hooks")
    (work / ".git/config").unlink()
    write(work, ".git/config", b"[" * 1_000_000)
    assert "too large" in "".join(one.detail for one in planted_git(work))
    write(work, ".git/config", b"\xff\xfe[core\n=\n[a]]]]\n\0")
    assert planted_git(work) == ()
    (work / ".git/hooks").symlink_to("/etc")
    assert [one.path for one in planted_git(work)] == [".git/hooks"]


def test_a_workspace_that_is_gone_shows_nothing(tmp_path: Path) -> None:
    assert planted_git(tmp_path / "nowhere") == ()
