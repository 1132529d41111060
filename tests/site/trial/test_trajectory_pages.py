from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from tests.recorded import HOSTILE, drift_run

from trialbook.api import Page
from trialbook.model.trajectory import CallUsage, Event, EventKind, Trajectory
from trialbook.site.render import Renderer
from trialbook.site.trial.trajectory import EVENTS, TrajectoryPages
from trialbook.storage.reader import RunRef

SITE = {"title": "Evals", "navigation": [], "version": "1"}


def pages_of(*attempts: Trajectory) -> list[Page]:
    return list(made(*attempts).pages())


def made(*attempts: Trajectory) -> TrajectoryPages:
    plan, bundles = drift_run()
    found = {(1, number): one for number, one in enumerate(attempts, start=1)}
    return TrajectoryPages(RunRef(plan.suite, plan.run), bundles[0].record, found)


def html(page: Page, tmp_path: Path) -> str:
    return Renderer(tmp_path / "none").render(page, SITE).decode()


def command(number: int, **changes: object) -> Event:
    event = Event(number=number, kind=EventKind.COMMAND, command=f"echo {number}", exit_code=0)
    return replace(event, **changes)  # type: ignore[arg-type]


def test_every_event_of_a_long_trajectory_has_a_page_and_an_anchor(tmp_path: Path) -> None:
    events = tuple(command(number) for number in range(1, 2 * EVENTS + 2))
    pages = pages_of(Trajectory(client="x", events=events))
    texts = [html(page, tmp_path) for page in pages]
    assert len(pages) == 3
    assert pages[1].path.endswith("r1.trajectory-page-2.html")
    anchors = [int(found) for text in texts for found in re.findall(r'id="e(\d+)"', text)]
    assert anchors == [*range(1, 2 * EVENTS + 2)]


def test_events_that_were_left_out_are_counted_where_they_are_missing() -> None:
    kept = (command(1), command(2), command(2002))
    trajectory = Trajectory(client="x", events=kept, omitted_events=1999)
    [page] = pages_of(trajectory)
    assert [event["gap"] for event in page.context["events"]] == ["", "", "1999 events"]
    assert page.context["notes"][0].startswith("1999 events in the middle are not kept")


def test_arguments_and_output_are_under_their_event() -> None:
    event = command(
        1,
        tool="Bash",
        command="ls\n--all",
        arguments={"command": "ls\n--all", "why": "to see"},
        output="\x1b[31ma\x1b[0m",
        output_bytes=9_000,
        exit_code=2,
        at="2026-12-01T10:00:00Z",
        usage=CallUsage(input_tokens=1200, output_tokens=3),
    )
    [shown] = pages_of(Trajectory(client="x", events=(event,)))[0].context["events"]
    assert (shown["tool"], shown["head"]) == ("Bash", "ls")
    assert shown["ended"] == {"said": "exit 2", "tone": "bad"}
    parts = {part["name"]: part["text"] for part in shown["parts"]}
    assert parts["command"] == "ls\n--all"
    assert '"why": "to see"' in parts["arguments"]
    assert parts["output"] == "a"
    assert parts["usage of this call of the model"] == "input tokens 1,200, output tokens 3"


def test_times_are_told_from_the_first_one() -> None:
    times = (None, "2026-12-01T10:00:00Z", "2026-12-01T10:00:02.5Z", "2026-12-01T11:01:01Z")
    events = tuple(command(number, at=at) for number, at in enumerate(times, start=1))
    [page] = pages_of(Trajectory(client="x", events=events))
    spent = [event["spent"] for event in page.context["events"]]
    assert spent == ["", "+0.0 s", "+2.5 s", "+1:01:01"]


def test_what_asks_for_a_look_is_listed_with_the_way_to_it() -> None:
    events = (command(1), command(2, command="git push --force"))
    [page] = pages_of(Trajectory(client="x", events=events))
    [entry] = page.context["marks"]
    assert entry["target"] == "r1.trajectory.html#e2"


def test_each_attempt_has_pages_of_its_own() -> None:
    trajectory = Trajectory(client="x", events=(command(1),))
    first, second = pages_of(trajectory, trajectory)
    assert first.path.endswith("/r1.trajectory.html")
    assert second.path.endswith("/r1.trajectory-1-2.html")
    assert [label for label, _ in first.context["others"]] == [
        "Session 1, attempt 1",
        "Session 1, attempt 2",
    ]


def test_the_strip_leads_to_events_on_their_pages() -> None:
    events = tuple(command(number) for number in range(1, 2 * EVENTS + 1))
    [strip] = made(Trajectory(client="x", events=events)).strips()
    [lane] = strip["strip"]["lanes"]
    assert lane["count"] == 2 * EVENTS
    assert lane["svg"].count("<path") <= 251
    assert "r1.trajectory.html#e1" in lane["svg"]
    assert "r1.trajectory-page-2.html#e" in lane["svg"]


def test_hostile_events_do_nothing(tmp_path: Path) -> None:
    event = command(
        1,
        command=HOSTILE,
        tool=HOSTILE,
        output=HOSTILE + "\x00\u202e",
        text=HOSTILE,
        agent=HOSTILE,
        arguments={HOSTILE: [HOSTILE]},
    )
    message = Event(number=2, kind=EventKind.MESSAGE, text=HOSTILE, at=HOSTILE)
    trajectory = Trajectory(client=HOSTILE, model=HOSTILE, events=(event, message))
    [page] = pages_of(trajectory)
    text = html(page, tmp_path)
    assert "<script>" not in text
    assert "<img" not in text
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", text)
