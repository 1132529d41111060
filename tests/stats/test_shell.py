from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trialbook.stats.shell import (
    restored_paths,
    risks,
    runs_tests,
    simple_commands,
    writes_files,
)

SCRIPT = "cat > a.py <<'END'\ngit push --force\nrm -rf /\nEND\npython a.py"


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("ls -l", (("ls", "-l"),)),
        ("cd a && ls; git status | cat", (("cd", "a"), ("ls",), ("git", "status"), ("cat",))),
        ('/usr/bin/git \'a b\' "c\\"d" e\\ f', (("git", "a b", 'c"d', "e f"),)),
        ("bash -lc 'git push -f; ls'", (("git", "push", "-f"), ("ls",))),
        ("sudo -E env A=1 timeout -k 1 60 make test", (("make", "test"),)),
        ("timeout 60 make test", (("make", "test"),)),
        ("A=1 B='x y' pytest", (("pytest",),)),
        (SCRIPT, (("cat", ">", "a.py"), ("python", "a.py"))),
        ("cat <<X\nnever ends\nrm -rf /", (("cat",),)),
        ("'unfinished", (("unfinished",),)),
        ("", ()),
        (" ;;\n&& ", ()),
    ],
)
def test_a_command_line_falls_into_simple_commands(
    command: str, found: tuple[tuple[str, ...], ...]
) -> None:
    assert simple_commands(command) == found


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("git push --force", "force push"),
        ("git -C sub push -f origin main", "force push"),
        ("git push origin +main", "force push"),
        ("git push --force-with-lease", "force push"),
        ("git rebase -i HEAD~3", "history rewritten"),
        ("git commit --amend --no-edit", "history rewritten"),
        ("git reset --hard HEAD~1", "history rewritten"),
        ("git filter-branch --all", "history rewritten"),
        ("git clean -fdx", "data deleted"),
        ("rm -rf /", "data deleted"),
        ("rm -rf .", "data deleted"),
        ("rm -r --force ~/work", "data deleted"),
        ("find . -name '*.py' -delete", "data deleted"),
        ("psql -c 'DROP TABLE users'", "data deleted"),
        ("mkfs.ext4 /dev/sda", "data deleted"),
        ("git commit --no-verify -m x", "checks switched off"),
        ("git commit -nm x", "checks switched off"),
        ("git -c core.hooksPath=/dev/null commit", "checks switched off"),
        ("chmod -x .git/hooks/pre-commit", "checks switched off"),
        ("pre-commit uninstall", "checks switched off"),
    ],
)
def test_risky_commands_are_named(command: str, found: str) -> None:
    assert risks(command) == (found,)
    assert risks(f"cd x && sh -c {command!r}") == (found,)


@pytest.mark.parametrize(
    "command",
    [
        "git commit -m 'push --force'",
        "echo 'rm -rf /'",
        "grep -rn 'git rebase' .",
        "rm -rf build dist .pytest_cache",
        "rm -rf /tmp/x",
        "rm a.py",
        "git push origin main",
        "git reset HEAD a.py",
        "git stash pop",
        "find . -name '*.py'",
        "dd if=/dev/zero of=file",
        SCRIPT,
    ],
)
def test_what_only_looks_like_a_risk_is_none(command: str) -> None:
    assert risks(command) == ()


@pytest.mark.parametrize(
    ("command", "tests"),
    [
        ("pytest -q", True),
        ("python3.12 -m pytest tests", True),
        ("python -m unittest", True),
        ("uv run pytest", True),
        ("uv run --extra dev python -m pytest", False),
        ("npx jest", True),
        ("npm test", True),
        ("npm run test:unit", True),
        ("npm run build", False),
        ("go test ./...", True),
        ("cargo test", True),
        ("make check", True),
        ("cd a && timeout 60 pytest 2>&1 | tail -5", True),
        ("pytest --version", False),
        ("cat tests/test_a.py", False),
        ("pip install pytest", False),
        ("python a.py", False),
    ],
)
def test_commands_that_run_tests_are_told_by_their_words(command: str, *, tests: bool) -> None:
    assert runs_tests(command) is tests


@pytest.mark.parametrize(
    ("command", "writes"),
    [
        ("sed -i s/a/b/ x.py", True),
        ("sed -i.bak s/a/b/ x.py", True),
        ("sed -n 1,20p x.py", False),
        ("echo a > x.py", True),
        ("echo a >> x.py", True),
        ("make 2>&1 | tail", False),
        ("pytest > /dev/null 2>&1", False),
        ("pytest > /tmp/out", False),
        ("echo 'a > b'", False),
        (SCRIPT, True),
        ("git apply x.patch", True),
        ("git diff", False),
        ("touch x", True),
        ("perl -pi -e s/a/b/ x", True),
    ],
)
def test_commands_that_change_files_are_told_by_their_words(command: str, *, writes: bool) -> None:
    assert writes_files(command) is writes


def test_what_git_puts_back_is_known_by_path() -> None:
    assert (
        restored_paths("cd a && git checkout -- a.py b.py; git restore -W c.py")
        == (
            "--",
            "a.py",
            "b.py",
            "c.py",
        )[1:]
    )
    assert restored_paths("git checkout main") == ("main",)
    assert restored_paths("git log") == ()


PIECES = st.sampled_from(
    ["git", "push", "-f", "'", '"', "\\", ";", "<<A", "\n", ">", "$(", "sh -c"]
)


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.text(max_size=300), st.lists(PIECES, max_size=60).map(" ".join)))
def test_any_text_can_be_read(text: str) -> None:
    for words in simple_commands(text):
        assert words
        assert "" not in words[:1] or text
    assert isinstance(risks(text), tuple)
    assert runs_tests(text) in (True, False)
    assert writes_files(text) in (True, False)


@pytest.mark.parametrize(
    "piece", ['"', "\\", "'", "a", ";", "<<A\n", "a<<A b\n", "sudo ", '"\\', "sh -c '", ">&", "-"]
)
def test_a_hostile_command_is_read_quickly(piece: str) -> None:
    text = piece * 100_000
    began = time.process_time()
    for _ in range(10):
        simple_commands.cache_clear()
        risks(text)
    assert time.process_time() - began < 2
