from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from trialbook.errors import EnvironmentProblem
from trialbook.storage.rooms import rooms, sweep
from trialbook.system import System

LEAVE = """
import sys, time
from trialbook.storage.rooms import rooms
from trialbook.system import System
with rooms(System()) as folder:
    (folder / "trial").mkdir()
    (folder / "trial" / "private.py").write_text("secret")
    print(folder, flush=True)
    time.sleep(60)
"""


def system_in(folder: Path) -> System:
    return System(
        environ={"TRIALBOOK_WORK": str(folder / "work"), "TRIALBOOK_CACHE": str(folder / "cache")}
    )


def test_the_folder_is_gone_at_the_end(tmp_path: Path) -> None:
    with rooms(system_in(tmp_path)) as folder:
        (folder / "x").write_text("x")
        assert folder.parent == tmp_path / "work"
    assert list((tmp_path / "work").iterdir()) == []
    assert list((tmp_path / "cache/rooms").iterdir()) == []


def test_the_folder_of_a_living_process_is_left_alone(tmp_path: Path) -> None:
    with rooms(system_in(tmp_path)) as one, rooms(system_in(tmp_path)) as other:
        assert one.is_dir()
        assert other.is_dir()


def test_what_a_killed_process_left_is_removed_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRIALBOOK_WORK", str(tmp_path / "work"))
    monkeypatch.setenv("TRIALBOOK_CACHE", str(tmp_path / "cache"))
    with subprocess.Popen([sys.executable, "-c", LEAVE], stdout=subprocess.PIPE, text=True) as left:
        assert left.stdout is not None
        folder = Path(left.stdout.readline().strip())
        left.send_signal(signal.SIGKILL)
    assert (folder / "trial/private.py").is_file()
    with rooms(System()):
        assert not folder.exists()


def test_a_note_that_names_another_place_removes_nothing(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    precious = tmp_path / "precious"
    precious.mkdir()
    (notes / "abcdef").write_text(str(precious))
    assert sweep(notes) == []
    assert precious.is_dir()
    assert list(notes.iterdir()) == []


@pytest.mark.parametrize("left", ["", "/somewh"])
def test_a_note_whose_maker_was_killed_before_its_folder_was_made_goes(
    tmp_path: Path, left: str
) -> None:
    notes = tmp_path / "cache/rooms"
    notes.mkdir(parents=True)
    (notes / "abcdef").write_text(left)
    with rooms(system_in(tmp_path)) as folder:
        assert [note.name for note in notes.iterdir()] == [folder.name]


def test_many_at_once_never_take_each_other_for_dead(tmp_path: Path) -> None:
    def make(_: int) -> bool:
        with rooms(system_in(tmp_path)) as folder:
            return folder.is_dir() and (tmp_path / "cache/rooms" / folder.name).is_file()

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(make, range(200)))
    assert list((tmp_path / "cache/rooms").iterdir()) == []


def test_an_error_of_what_is_done_inside_stays_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), rooms(system_in(tmp_path)) as folder:
        (folder / "missing").read_bytes()


def test_a_place_that_cannot_be_written_is_named_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "work").write_text("a file")
    with (
        pytest.raises(EnvironmentProblem, match="cannot make folders for trials"),
        rooms(system_in(tmp_path)),
    ):
        pass


def test_a_cache_that_cannot_be_written_is_named_too(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    with (
        pytest.raises(EnvironmentProblem, match=r"cannot keep notes in .*/cache/rooms") as told,
        rooms(system_in(tmp_path)),
    ):
        pass
    assert "TRIALBOOK_CACHE" in told.value.hint


def test_a_cache_that_cannot_be_looked_into_is_named_too(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may look into everything")
    (tmp_path / "cache").mkdir(mode=0)
    with pytest.raises(EnvironmentProblem, match="cannot keep notes"), rooms(system_in(tmp_path)):
        pass
