from __future__ import annotations

import sys
from pathlib import Path

from trialbook.storage.interpreter import interpreter_folders


def install(prefix: Path) -> Path:
    for name in ("bin", "lib", "private"):
        (prefix / name).mkdir(parents=True)
    python = prefix / "bin" / "python3.11"
    python.write_text("#!/bin/sh\n")
    python.chmod(0o755)
    return python


def test_an_environment_needs_itself_and_the_installation_that_it_belongs_to(
    tmp_path: Path,
) -> None:
    python = install(tmp_path / "opt")
    environment = tmp_path / "venv"
    (environment / "bin").mkdir(parents=True)
    (environment / "bin" / "python").symlink_to(python)
    (environment / "pyvenv.cfg").write_text(f"home = {tmp_path}/opt/bin\nversion = 3.11\n")
    found = set(interpreter_folders(str(environment / "bin" / "python")))
    assert found == {environment, tmp_path / "opt/bin", tmp_path / "opt/lib"}


def test_links_are_there_as_they_are_written(tmp_path: Path) -> None:
    install(tmp_path / "3.11.7")
    (tmp_path / "3.11").symlink_to("3.11.7")
    environment = tmp_path / "venv"
    (environment / "bin").mkdir(parents=True)
    (environment / "bin" / "python").symlink_to(tmp_path / "3.11/bin/python3.11")
    (environment / "pyvenv.cfg").write_text("")
    found = set(interpreter_folders(str(environment / "bin" / "python")))
    assert {tmp_path / "3.11/bin", tmp_path / "3.11/lib", tmp_path / "3.11.7/bin"} <= found


def test_an_installation_in_a_home_lays_open_only_its_own_folders(tmp_path: Path) -> None:
    python = install(tmp_path / "home")
    found = interpreter_folders(str(python))
    assert tmp_path / "home" not in found
    assert not any(path.name == "private" for path in found)


def test_the_interpreter_that_runs_this_is_covered() -> None:
    found = interpreter_folders(sys.executable)
    real = Path(sys.executable).resolve()
    assert any(real.is_relative_to(folder.resolve()) for folder in found)
    assert Path("/") not in found
