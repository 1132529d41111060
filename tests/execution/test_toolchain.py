from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.execution.wheels import make_wheel

from trialbook.errors import EnvironmentProblem, UserError
from trialbook.execution import toolchain as module
from trialbook.execution.folder_digest import folder_digest
from trialbook.execution.interpreters import interpreter
from trialbook.execution.toolchain import ToolchainFailure, Toolchains
from trialbook.model.digest import sha256
from trialbook.model.toolchain import Image, Toolchain
from trialbook.registry import Registry
from trialbook.system import System


@pytest.fixture(autouse=True)
def _another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one test prepared, another does not know."""
    monkeypatch.setattr(module, "_known", module._Known())


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A suite's folder with wheels: `greet` needs `words`."""
    folder = tmp_path / "suite"
    make_wheel(folder / "wheels", "words", "2.0")
    make_wheel(folder / "wheels", "greet", "1.0", needs="words")
    return folder


@pytest.fixture
def toolchains(suite: Path, tmp_path: Path) -> Toolchains:
    return Toolchains(
        suite_folder=suite, cache=tmp_path / "cache", system=System(), registry=Registry()
    )


def requiring(suite: Path, *lines: str) -> Toolchain:
    text = "--no-index\n--find-links wheels\n" + "".join(f"{line}\n" for line in lines)
    (suite / "requirements.txt").write_text(text)
    digest = sha256(text.encode())
    return Toolchain(requirements="requirements.txt", requirements_sha256=digest)


def said(python: str, code: str) -> str:
    done = subprocess.run([python, "-I", "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_known", module._Known())


# --- Python environments --------------------------------------------------------------------


@pytest.mark.slow
def test_requirements_are_resolved_locked_and_installed(
    suite: Path, toolchains: Toolchains
) -> None:
    made = toolchains.prepared(requiring(suite, "greet==1.0"))
    assert made.packages == ("greet==1.0", "words==2.0")
    assert said(made.interpreter, "import greet, words; print(words.VERSION)") == "2.0"
    lock = "".join(
        f"{name}=={version} --hash=sha256:{sha256((suite / 'wheels' / wheel).read_bytes())}\n"
        for name, version, wheel in (
            ("greet", "1.0", "greet-1.0-py3-none-any.whl"),
            ("words", "2.0", "words-2.0-py3-none-any.whl"),
        )
    )
    assert made.lock_sha256 == sha256(lock.encode())
    assert made.use.python == said(
        made.interpreter, "import platform as p; print(p.python_version())"
    )
    assert made.use.platform == f"linux {os.uname().machine}"


@pytest.mark.slow
def test_it_is_prepared_once_and_the_same_bytes_each_time(
    suite: Path, toolchains: Toolchains, monkeypatch: pytest.MonkeyPatch
) -> None:
    needed = requiring(suite, "greet==1.0")
    made = toolchains.prepared(needed)
    folder = Path(made.interpreter).parents[1]
    before = folder.stat().st_mtime_ns
    forget(monkeypatch)
    assert toolchains.prepared(needed) == made
    assert folder.stat().st_mtime_ns == before
    forget(monkeypatch)
    folder.with_suffix(".json").unlink()
    assert toolchains.prepared(needed).use.digest == made.use.digest
    assert folder.stat().st_mtime_ns != before


@pytest.mark.slow
def test_one_that_was_changed_is_made_anew(
    suite: Path, toolchains: Toolchains, monkeypatch: pytest.MonkeyPatch
) -> None:
    needed = requiring(suite, "greet==1.0")
    made = toolchains.prepared(needed)
    (planted,) = Path(made.interpreter).parents[1].glob("lib/python3*/site-packages/greet.py")
    planted.write_text("VERSION = 'planted'\n")
    forget(monkeypatch)
    again = toolchains.prepared(needed)
    assert again.use.digest == made.use.digest
    assert said(again.interpreter, "import greet; print(greet.VERSION)") == "1.0"


@pytest.mark.slow
def test_hashes_in_the_file_are_held_to(suite: Path, toolchains: Toolchains) -> None:
    greet = make_wheel(suite / "wheels", "alone", "3.0")
    needed = requiring(suite, f"alone==3.0 --hash=sha256:{greet}")
    made = toolchains.prepared(needed)
    assert made.packages == ("alone==3.0",)
    assert made.lock_sha256 == needed.requirements_sha256
    with pytest.raises(ToolchainFailure, match="cannot be prepared") as failed:
        toolchains.prepared(requiring(suite, f"alone==3.0 --hash=sha256:{'0' * 64}"))
    assert b"DO NOT MATCH" in failed.value.log


@pytest.mark.slow
def test_what_cannot_be_had_is_a_failure_with_its_log_and_is_tried_again_for_a_rerun(
    suite: Path, toolchains: Toolchains
) -> None:
    needed = requiring(suite, "absent==1.0")
    with pytest.raises(ToolchainFailure) as failed:
        toolchains.prepared(needed)
    assert "No matching distribution found for absent==1.0" in failed.value.message
    assert "--require" in failed.value.log.decode()
    assert "No matching distribution" in failed.value.log.decode()
    with pytest.raises(ToolchainFailure) as again:
        toolchains.prepared(needed)
    assert again.value is failed.value
    make_wheel(suite / "wheels", "absent")
    assert toolchains.prepared(needed, turn=1).packages == ("absent==1.0",)


def test_a_password_in_an_address_is_not_in_the_log(suite: Path, toolchains: Toolchains) -> None:
    script = "echo fetching https://me:hunter2hunter2@example.invalid/x; exit 1"
    with pytest.raises(ToolchainFailure) as failed:
        toolchains.prepared(Toolchain(prepare=("sh", "-c", script)))
    assert b"fetching https://***@example.invalid/x" in failed.value.log
    assert b"hunter2" not in failed.value.log


# --- interpreters ---------------------------------------------------------------------------


def test_the_version_asked_for_is_found_and_used(toolchains: Toolchains, tmp_path: Path) -> None:
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    made = toolchains.prepared(Toolchain(python=here))
    assert said(made.interpreter, "import sys; print(sys.version_info[1])") == here.split(".")[1]
    assert made.lock_sha256 is None
    assert made.packages == ()


def test_an_interpreter_of_another_version_is_looked_for_on_the_path(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "python3.77"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho \'["3.77.4", "/opt/base/bin/python3.77"]\'\n')
    program.chmod(0o755)
    environ = {"PATH": f"{program.parent}:/usr/bin:/bin", "HOME": str(tmp_path)}
    for version in ("3.77", "3.77.4"):
        found = interpreter(version, environ)
        assert (found.version, found.program) == ("3.77.4", "/opt/base/bin/python3.77")
    with pytest.raises(EnvironmentProblem, match=r"no Python 3\.77\.5 .*; here is 3\.77\.4"):
        interpreter("3.77.5", environ)


def test_a_version_that_is_not_here_is_refused_with_the_way_to_get_it(
    toolchains: Toolchains,
) -> None:
    with pytest.raises(EnvironmentProblem, match=r"there is no Python 3\.99 on this") as refused:
        toolchains.prepared(Toolchain(python="3.99"))
    assert not isinstance(refused.value, ToolchainFailure)
    assert "uv python install 3.99" in refused.value.hint


# --- commands that prepare ------------------------------------------------------------------


def test_a_command_adds_to_the_toolchain_and_sees_nothing_of_the_operators(
    suite: Path, tmp_path: Path
) -> None:
    (suite / "make").mkdir()
    (suite / "make" / "build.sh").write_text(
        'printf "#!/bin/sh\\necho made\\n" > "$TOOLCHAIN/bin/tool"\n'
        'chmod +x "$TOOLCHAIN/bin/tool"\n'
        'env > "$TOOLCHAIN/environment"\n'
        'python -c "import sys; print(sys.prefix)" > "$TOOLCHAIN/prefix"\n'
    )
    environ = {**os.environ, "AWS_SECRET_ACCESS_KEY": "private", "https_proxy": "http://p:1"}
    toolchains = Toolchains(
        suite_folder=suite, cache=tmp_path / "cache", system=System(environ=environ)
    )
    made = toolchains.prepared(
        Toolchain(prepare=("sh", "build.sh"), files="make", files_sha256="1" * 64)
    )
    folder = Path(made.interpreter).parents[1]
    assert subprocess.check_output([folder / "bin" / "tool"]) == b"made\n"
    environment = (folder / "environment").read_text()
    assert "private" not in environment
    assert "https_proxy=http://p:1" in environment
    assert os.environ["HOME"] not in environment.split("HOME=")[1].splitlines()[0]
    assert (folder / "prefix").read_text().strip() == str(folder)
    assert made.use.digest == folder_digest(folder)
    assert sorted(path.name for path in folder.parent.iterdir()) == sorted(
        folder.name + suffix for suffix in ("", ".json", ".lock", ".log")
    )


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo that went wrong >&2; exit 3", "`sh` ended with status 3: that went wrong"),
        ('mkfifo "$TOOLCHAIN/pipe"', "neither a file nor a folder"),
    ],
)
def test_a_command_that_fails_or_leaves_odd_things_is_told(
    script: str, words: str, toolchains: Toolchains
) -> None:
    with pytest.raises(ToolchainFailure, match=words):
        toolchains.prepared(Toolchain(prepare=("sh", "-c", script)))


def test_a_program_that_is_not_there_is_told(toolchains: Toolchains) -> None:
    with pytest.raises(ToolchainFailure, match="no-such-program"):
        toolchains.prepared(Toolchain(prepare=("no-such-program",)))


PREPARE = """
import sys
from pathlib import Path
from trialbook.execution.toolchain import Toolchains
from trialbook.model.toolchain import Toolchain
from trialbook.system import System
suite, cache, script = sys.argv[1:]
toolchains = Toolchains(suite_folder=Path(suite), cache=Path(cache), system=System())
print(toolchains.prepared(Toolchain(prepare=("sh", "-c", script))).use.digest)
"""


@pytest.fixture
def start(suite: Path, tmp_path: Path) -> Callable[[str], subprocess.Popen[str]]:
    def start(script: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", PREPARE, str(suite), str(tmp_path / "cache"), script],
            stdout=subprocess.PIPE,
            text=True,
        )

    return start


@pytest.mark.slow
def test_two_processes_that_need_it_at_once_prepare_it_once(
    start: Callable[[str], subprocess.Popen[str]], tmp_path: Path
) -> None:
    script = f'echo once >> {tmp_path}/count; sleep 0.5; date +%s%N > "$TOOLCHAIN/when"'
    running = [start(script) for _ in range(3)]
    digests = {process.communicate()[0] for process in running}
    assert (tmp_path / "count").read_text() == "once\n"
    assert len(digests) == 1


def test_two_threads_that_need_what_fails_try_it_once(
    toolchains: Toolchains, tmp_path: Path
) -> None:
    needed = Toolchain(prepare=("sh", "-c", f"echo once >> {tmp_path}/count; sleep 0.3; exit 1"))
    failures = []

    def one() -> None:
        try:
            toolchains.prepared(needed)
        except ToolchainFailure as failure:
            failures.append(failure)

    threads = [threading.Thread(target=one) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(failures) == 3
    assert (tmp_path / "count").read_text() == "once\n"


@pytest.mark.slow
def test_a_killed_preparation_leaves_nothing_that_counts_and_nothing_that_runs(
    start: Callable[[str], subprocess.Popen[str]], suite: Path, tmp_path: Path
) -> None:
    script = (
        f'if [ -e {tmp_path}/began ]; then echo whole > "$TOOLCHAIN/result"; exit; fi; '
        f'echo half > "$TOOLCHAIN/half"; echo $$ > {tmp_path}/began; sleep 60'
    )
    runner = start(script)
    until = time.monotonic() + 30
    while not (tmp_path / "began").exists() and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(0.1)
    runner.send_signal(signal.SIGKILL)
    runner.communicate()
    pid = int((tmp_path / "began").read_text())
    while Path("/proc", str(pid)).exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert not Path("/proc", str(pid)).exists()
    (lock,) = (tmp_path / "cache" / "toolchains").glob("*.lock")
    folder = lock.with_suffix("")
    assert not folder.with_suffix(".json").exists()
    again = start(script)
    assert again.communicate()[0].strip() == folder_digest(folder)
    assert (folder / "result").exists()
    assert not (folder / "half").exists()
    assert sorted(path.name for path in folder.parent.iterdir()) == sorted(
        folder.name + suffix for suffix in ("", ".json", ".lock", ".log")
    )


# --- images and digests ---------------------------------------------------------------------


@pytest.mark.parametrize("sandbox", ["none", "bubblewrap", None])
def test_an_image_is_only_for_a_sandbox_of_containers(
    sandbox: str | None, toolchains: Toolchains
) -> None:
    needed = Toolchain(image=Image(name=f"example.invalid/tools@sha256:{'0' * 64}"))
    with pytest.raises(UserError, match="only a sandbox of containers") as refused:
        toolchains.prepared(needed, sandbox)
    assert "--sandbox container" in refused.value.hint


def test_a_digest_tells_contents_names_modes_and_links(tmp_path: Path) -> None:
    folder = tmp_path / "tree"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "file").write_text("one")
    (folder / "link").symlink_to("/nowhere")
    (Path(os.fsdecode(os.fsencode(folder) + b"/\xff"))).write_text("odd")
    seen = [folder_digest(folder)]
    (folder / "sub" / "file").write_text("two")
    seen.append(folder_digest(folder))
    (folder / "sub" / "file").chmod(0o755)
    seen.append(folder_digest(folder))
    (folder / "sub" / "file").rename(folder / "sub" / "other")
    seen.append(folder_digest(folder))
    (folder / "link").unlink()
    (folder / "link").symlink_to("/elsewhere")
    seen.append(folder_digest(folder))
    assert len(set(seen)) == 5
    assert folder_digest(folder) == seen[-1]
