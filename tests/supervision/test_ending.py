"""How a command ended is told right."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from trialbook import process
from trialbook.model.process import Command, Ended
from trialbook.model.suite import Limits
from trialbook.supervision.forked import ForkServer

if TYPE_CHECKING:
    from tests.supervision.conftest import Bench


@pytest.mark.parametrize("code", [0, 1, 2, 77, 126, 127, 255])
def test_an_exit_status_is_told(bench: Bench, code: int) -> None:
    result = bench.shell(f"exit {code}")
    assert (result.ended, result.exit_code, result.signal) == (Ended.EXITED, code, None)
    assert result.ok is (code == 0)
    assert result.message == ""


@pytest.mark.parametrize("number", [1, 2, 6, 9, 11, 13, 15])
def test_a_signal_is_told_and_not_taken_for_an_exit_status(bench: Bench, number: int) -> None:
    result = bench.shell(f"kill -{number} $$")
    assert (result.ended, result.exit_code, result.signal) == (Ended.SIGNALLED, None, number)
    assert not result.ok


def test_a_status_that_only_looks_like_a_signal_is_a_status(bench: Bench) -> None:
    result = bench.shell("exit 137")
    assert (result.ended, result.exit_code, result.signal) == (Ended.EXITED, 137, None)


def test_seconds_are_those_of_the_command(bench: Bench) -> None:
    assert 0.6 <= bench.shell("sleep 0.6").seconds < 10
    assert bench.shell("true").seconds < 0.6


def test_peak_memory_is_that_of_the_largest_process(bench: Bench) -> None:
    small = bench.shell("true").max_rss_bytes
    large = bench.python("import os; os.fork() or bytearray(80_000_000); os.wait()").max_rss_bytes
    assert small is not None
    assert large is not None
    assert small < 40_000_000
    assert 80_000_000 < large < 400_000_000


def test_a_program_that_is_not_there_is_not_started(bench: Bench) -> None:
    for name, reason in (
        ("/no/such/program", "the program /no/such/program is not there"),
        ("no-such-program", "the program no-such-program is not found on the PATH"),
        ("./here-neither", "the program ./here-neither is not there"),
        ("", "there is no program to run: the command names none"),
    ):
        result = bench.run(name)
        assert (result.ended, result.message) == (Ended.NOT_STARTED, reason)
        assert result.exit_code is None
        assert result.signal is None


def test_a_program_without_permission_is_not_started(bench: Bench) -> None:
    script = bench.folder / "script"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o644)
    result = bench.run("./script")
    assert result.ended is Ended.NOT_STARTED
    assert result.message == "the program ./script cannot be started: Permission denied"


def test_a_script_without_its_interpreter_or_without_naming_one_is_not_started(
    bench: Bench,
) -> None:
    script = bench.folder / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    result = bench.run("./script")
    assert result.ended is Ended.NOT_STARTED
    assert "what its first line or header names" in result.message
    script.write_text("neither one thing nor the other\n")
    result = bench.run("./script")
    assert result.ended is Ended.NOT_STARTED
    assert "needs a #! line" in result.message


def test_a_folder_to_work_in_that_is_not_there_is_named(bench: Bench) -> None:
    result = bench.run("true", cwd=bench.folder / "gone")
    assert result.ended is Ended.NOT_STARTED
    assert result.message == (
        f"the working directory {bench.folder}/gone cannot be entered: No such file or directory"
    )


def test_one_argument_too_long_says_to_use_a_file(bench: Bench) -> None:
    with pytest.raises(OSError, match="too long") as control:
        os.posix_spawn("/bin/true", ["true", "x" * 200_000], {})
    assert control.value.errno == errno.E2BIG
    result = bench.run("true", "x" * 200_000)
    assert result.ended is Ended.NOT_STARTED
    assert "pass the prompt by file or on standard input" in result.message


def test_megabytes_of_arguments_say_to_use_a_file(bench: Bench) -> None:
    result = bench.run("true", *["y" * 100_000] * 80)
    assert result.ended is Ended.NOT_STARTED
    assert "pass the prompt by file or on standard input" in result.message


def test_what_cannot_be_passed_to_a_process_is_said_and_nothing_raised(bench: Bench) -> None:
    for argv, environment in (
        ((), {}),
        (("true", "nul\0here"), {}),
        (("true", "\ud800"), {}),
        (("true",), {"A": "nul\0here"}),
        (("true",), {"A=B": "c"}),
        (("true",), {"": "c"}),
    ):
        result = bench.run(*argv, environment=environment)
        assert result.ended is Ended.NOT_STARTED
        assert result.message


def test_files_for_output_and_input_must_be_regular_files(bench: Bench) -> None:
    os.mkfifo(bench.folder / "pipe")
    (bench.folder / "target").write_text("kept")
    (bench.folder / "link").symlink_to("target")
    for more in (
        {"stdout": bench.folder / "pipe"},
        {"stderr": bench.folder / "pipe"},
        {"stdin": bench.folder / "pipe"},
        {"stdout": bench.folder / "link"},
        {"stdout": bench.folder / "no" / "folder"},
        {"stdin": bench.folder / "nothing"},
        {"stdin": bench.folder},
    ):
        result = bench.run("true", **more)  # type: ignore[arg-type]
        assert result.ended is Ended.NOT_STARTED, more
        assert str(next(iter(more.values()))) in result.message
    assert (bench.folder / "target").read_text() == "kept"


def test_output_may_go_to_the_null_device(bench: Bench) -> None:
    null = Path(os.devnull)
    result = bench.shell("echo out; echo err >&2", stdout=null, stderr=null)
    assert result.ok
    assert result.stdout_bytes == 8
    assert null.is_char_device()


def test_many_threads_run_commands_at_once_and_get_their_own_results(tmp_path: Path) -> None:
    folders = [tmp_path / str(number) for number in range(8)]
    results: dict[int, tuple[int | None, bytes]] = {}

    def one(number: int) -> None:
        folder = folders[number]
        folder.mkdir()
        for turn in range(5):
            command = Command(
                argv=("/bin/sh", "-c", f"sleep 0.0{turn}; echo {number}.{turn}; exit {number}"),
                cwd=folder,
                environment={},
                stdout=folder / f"{turn}.out",
                stderr=folder / f"{turn}.err",
            )
            result = process.run(command, Limits(minutes=1))
            assert result.leftover_processes == 0
            results[number * 10 + turn] = (
                result.exit_code,
                (folder / f"{turn}.out").read_bytes(),
            )

    threads = [threading.Thread(target=one, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {
        number * 10 + turn: (number, f"{number}.{turn}\n".encode())
        for number in range(8)
        for turn in range(5)
    }


def test_an_interpreter_that_cannot_supervise_is_said(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "_SUPERVISOR", ("/no/python",))
    monkeypatch.setattr(process, "_server", ForkServer(process._start_server))
    result = bench.run("true")
    assert result.ended is Ended.NOT_STARTED
    assert result.message == "/no/python is not installed, or not on the PATH"


def test_commands_leave_no_descriptor_open_in_the_runner(bench: Bench) -> None:
    bench.run("true")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(5):
        bench.run("true")
        bench.run("/no/such/program")
    assert len(list(Path("/proc/self/fd").iterdir())) == before
