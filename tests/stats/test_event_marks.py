from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from trialbook.model.trajectory import Event, EventKind, Trajectory
from trialbook.stats.conduct import conduct
from trialbook.stats.event_marks import MarkKind, event_marks


def command(number: int, text: str, code: int | None = 0) -> Event:
    return Event(number=number, kind=EventKind.COMMAND, command=text, exit_code=code)


def said(events: list[Event]) -> dict[int, list[str]]:
    return {place: [mark.said for mark in marks] for place, marks in event_marks(events).items()}


def test_the_same_failure_again_is_marked_where_it_happens() -> None:
    events = [command(1, "make", 2), command(2, "make", 2), command(3, "make", 2)]
    assert said(events) == {
        1: ["failed 2 times in a row", "run 2 times"],
        2: ["failed 3 times in a row", "run 3 times"],
    }


def test_an_edit_that_undoes_the_one_before_is_marked() -> None:
    def edit(number: int, old: str, new: str) -> Event:
        given = {"old_string": old, "new_string": new}
        return Event(number=number, kind=EventKind.WRITE, path="a.py", arguments=given)

    assert said([edit(1, "a", "b"), edit(2, "b", "a")]) == {1: ["took an edit back"]}


def test_risky_and_forbidden_commands_and_test_runs_are_marked() -> None:
    events = [
        command(1, "git push --force"),
        Event(number=2, kind=EventKind.TOOL, tool="Web", denied=True),
        command(3, "pytest -q", 1),
    ]
    marks = event_marks(events)
    assert marks[0][0].kind is MarkKind.RISKY
    assert [mark.said for mark in marks[1]] == ["not permitted"]
    assert [mark.said for mark in marks[2]] == ["tests failed"]


EVENTS = st.lists(
    st.builds(
        Event,
        number=st.just(1),
        kind=st.sampled_from([EventKind.COMMAND, EventKind.READ, EventKind.WRITE]),
        command=st.sampled_from(["pytest", "ls", "rm -rf /", "git checkout a"]),
        path=st.sampled_from(["a", "b"]),
        exit_code=st.sampled_from([None, 0, 1]),
        denied=st.booleans(),
    ),
    max_size=20,
)


@given(EVENTS)
def test_marks_are_the_facts_of_the_whole_where_they_happened(events: list[Event]) -> None:
    made = conduct(Trajectory(client="x", events=tuple(events)))
    marks = [mark for one in event_marks(events).values() for mark in one]
    kinds = [mark.kind for mark in marks]
    assert kinds.count(MarkKind.DENIED) == made.denied
    assert kinds.count(MarkKind.RISKY) == made.risky_commands
    assert kinds.count(MarkKind.READ_AGAIN) == made.rereads
    assert kinds.count(MarkKind.REPEATED) == made.commands - made.distinct_commands
    assert kinds.count(MarkKind.TESTS) == made.test_runs
    runs = [int(mark.said.split()[1]) for mark in marks if mark.kind is MarkKind.FAILED_AGAIN]
    assert max(runs, default=made.failing_run or 0) == (made.failing_run or 0)
