"""Whatever is done to whatever record, in whatever kind of commit: it is seen."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.verify.book import BASE, BROKEN, Book, Recipe, add_run

OTHER = "20261130T160000Z-aaaaaa"
LOCK = "suites/demo/locks/1.json"


@dataclass(frozen=True, repr=False)
class World:
    """An honest ledger; ``records`` are its files that are not empty."""

    book: Book
    head: str
    start: str
    records: list[str]


@pytest.fixture(scope="module")
def world(pristine: Path, tmp_path_factory: pytest.TempPathFactory) -> World:
    """An honest ledger with an open and a closed run and a lock-like file."""
    folder = tmp_path_factory.mktemp("world") / "ledger"
    shutil.copytree(pristine, folder, symlinks=True)
    book = Book(folder)
    start = book.head
    add_run(book, Recipe(close=False), OTHER)
    book.commit({"suites/demo/locks/README.md": b"locks\n", LOCK: b"{}\n"})
    listed = book.git("ls-tree", "-r", "-l", "main", "runs", LOCK).splitlines()
    records = [line.split("\t")[1] for line in listed if line.split()[3] != "0"]
    return World(book, book.head, start, records)


places = st.integers(min_value=0, max_value=10_000)
ways = st.sampled_from(["edit", "truncate", "drop", "move", "mode", "grow"])
commits = st.sampled_from(["on top", "back-dated", "undone later", "in a merge", "on a branch"])


def _tampered(world: World, path: str, way: str, where: int) -> dict[str, bytes | None]:
    data = world.book.file(path, world.head)
    at = where % len(data)
    return {
        "edit": lambda: {path: data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]},
        "truncate": lambda: {path: data[:at]},
        "grow": lambda: {path: data[:at] + b" " + data[at:]},
        "drop": lambda: {path: None},
        "move": lambda: {path: None, f"{path}.moved": data},
        "mode": lambda: {path: data},
    }[way]()


@pytest.mark.slow
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(record=places, way=ways, where=places, kind=commits)
def test_a_record_that_is_tampered_with_is_always_seen(
    world: World, record: int, way: str, where: int, kind: str
) -> None:
    book = world.book
    path = world.records[record % len(world.records)]
    files = _tampered(world, path, way, where)
    mode = 0o100755 if way == "mode" else 0o100644
    book.move(world.head)
    match kind:
        case "on top":
            guilty = book.commit(files, mode=mode)
        case "back-dated":
            guilty = book.commit(files, mode=mode, seconds=1)
        case "undone later":
            guilty = book.commit(files, mode=mode)
            undo = {path: book.file(path, world.head)} | {p: None for p in files if p != path}
            book.commit(undo)
        case "in a merge":
            book.move(world.start)
            side = book.commit({"other.txt": b"x\n"})
            guilty = book.commit(
                {**files, "other.txt": b"x\n"}, parents=[world.head, side], mode=mode
            )
        case _:
            guilty = book.commit(files, mode=mode)
            book.commit({"other.txt": b"x\n"}, parents=[world.head, guilty])
    faults = book.verify().faults
    assert guilty in {fault.commit for fault in faults}, (path, way, kind)
    # A folder that lost its only file is gone itself.
    places_told = {fault.path for fault in faults if fault.commit == guilty}
    assert any(path.startswith(place) or place.startswith(path) for place in places_told)


@pytest.mark.slow
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from(["README.md", "src/app.py", "suites/demo/README.md", "runs/README.md"]),
            st.one_of(st.none(), st.binary(max_size=20)),
            st.booleans(),
        ),
        max_size=5,
    )
)
def test_what_is_done_beside_the_ledger_is_never_a_fault(
    world: World, steps: list[tuple[str, bytes | None, bool]]
) -> None:
    book = world.book
    book.move(world.head)
    honest = {fault.code.value for fault in book.verify().faults}
    # The lock in this world is none that can be read; nothing else is wrong.
    assert honest == {"record-unreadable"}
    for path, data, merge in steps:
        before = book.head
        side = book.commit({path: data})
        if merge:
            book.commit({path: data}, parents=[before, side])
    assert {fault.code.value for fault in book.verify().faults} == honest


def test_every_file_of_a_run_is_a_record(world: World) -> None:
    assert len([path for path in world.records if path.startswith(BASE)]) > 40


TEXTS = [
    f"{BASE}/plan.json",
    f"runs/demo/{OTHER}/plan.json",
    f"{BASE}/large/new/r1/trial.json",
    f"{BASE}/{BROKEN.trial_path(1)}/trial.json",
    f"{BASE}/large/new/r1/grades/checks.json",
]


def _leaves(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    if isinstance(value, dict) and value:
        return [leaf for key, inner in value.items() for leaf in _leaves(inner, (*path, key))]
    if isinstance(value, list) and value:
        return [leaf for n, inner in enumerate(value) for leaf in _leaves(inner, (*path, n))]
    return [path]


values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(min_value=-2, max_value=10**20),
    st.text(max_size=8),
    st.sampled_from(
        ["", "accepted", "../..", "a/b", "0" * 40, "2026-11-30T15:00:00.000Z", "é\x1b"]
    ),
    st.just([]),
    st.just({}),
)


@pytest.mark.slow
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(record=places, leaf=places, value=values, drop=st.booleans())
def test_no_value_in_a_record_is_too_strange_to_be_told(
    world: World, record: int, leaf: int, value: object, drop: bool
) -> None:
    book = world.book
    path = TEXTS[record % len(TEXTS)]
    whole = json.loads(book.file(path, world.head))
    found = _leaves(whole)
    *way, last = found[leaf % len(found)]
    inner = whole
    for step in way:
        inner = inner[step]
    if inner[last] == value and not drop:
        return
    if drop:
        del inner[last]
    else:
        inner[last] = value
    book.move(world.head)
    text = json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
    guilty = book.commit({path: text.encode("utf-8", "surrogatepass")})
    assert guilty in {fault.commit for fault in book.verify().faults}
