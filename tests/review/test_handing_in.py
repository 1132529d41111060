from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.conftest import git, trialbook
from tests.review.desk import RUN, a_desk, editor, filled, review_all, reviewed_ledger

from trialbook.errors import EnvironmentProblem, UserError
from trialbook.model.review import Guess
from trialbook.storage.files import write_atomic

FILL = """
    sys.path.insert(0, {top!r})
    from tests.review.desk import filled
    path.write_text(filled(path.read_text(){more}))
"""


def filling(folder: Path, more: str = "") -> str:
    """An editor that gives every answer."""
    top = str(Path(__file__).resolve().parents[2])
    return editor(folder, "filling.py", FILL.format(top=top, more=more))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return reviewed_ledger(tmp_path / "ledger")


def form_in(text: str) -> Path:
    """The form of the packet that a command named."""
    named = next(line.split()[-1] for line in text.splitlines() if line.startswith("read"))
    return Path(named).with_name("review.yaml")


def test_a_saved_form_becomes_one_commit_with_one_file(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITOR", filling(tmp_path))
    before = git(root, "rev-parse", "HEAD").strip()
    done = trialbook(
        root, "review", "next", "--reviewer", "ann", "--guess", "zebra-flow", "--sure", "70"
    )
    assert "2 packets" in done.stdout
    assert git(root, "rev-list", "--count", f"{before}..HEAD").strip() == "1"
    named = git(root, "show", "--name-status", "--format=", "HEAD").split()
    assert named[0] == "A"
    assert named[1].startswith(f"runs/{RUN.path}/reviews/ann/")
    assert len(named) == 2
    text = (root / named[1]).read_text()
    assert "guess: {configuration: zebra-flow, sure: 70}" in text
    assert "#" not in text
    assert "zebra" not in git(root, "show", "--format=%B", "--no-patch", "HEAD")
    assert git(root, "status", "--porcelain") == ""


def test_a_form_that_is_closed_without_saving_waits_as_it_is(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VISUAL", editor(tmp_path, "look.py", "print(path.read_text()[:0])"))
    first = trialbook(root, "review", "next", "--reviewer", "ann", check=1)
    assert "nothing was saved" in first.stdout
    form = form_in(first.stdout)
    form.write_text(form.read_text() + "# mine\n")
    monkeypatch.setenv("VISUAL", filling(tmp_path))
    again = trialbook(root, "review", "next", "--reviewer", "ann")
    assert "your draft" in again.stderr
    path = next(line.split()[1] for line in again.stdout.splitlines() if line.startswith("review"))
    assert "# mine" in (root / path.rstrip(",")).read_text()


def test_a_form_with_mistakes_is_told_by_line_and_stays(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITOR", filling(tmp_path, ', narrow="perhaps"'))
    done = trialbook(root, "review", "next", "--reviewer", "ann", check=2)
    line = next(
        number
        for number, one in enumerate(form_in(done.stdout).read_text().splitlines(), 1)
        if "perhaps" in one
    )
    assert f"review.yaml:{line}:" in done.stderr
    assert "`answer` must be yes, no or not_applicable" in done.stderr
    assert "what you wrote is in" in done.stderr
    assert "perhaps" in form_in(done.stdout).read_text()
    assert git(root, "log", "-1", "--format=%s").startswith("results")


def test_an_editor_that_fails_loses_nothing(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = "path.write_text(path.read_text() + '# half a thought')\nsys.exit(3)"
    monkeypatch.setenv("EDITOR", editor(tmp_path, "failing.py", body))
    done = trialbook(root, "review", "next", "--reviewer", "ann", check=2)
    assert "ended with status 3" in done.stderr
    opened = a_desk(root).next("ann")
    assert opened is not None
    assert not opened.fresh
    assert "# half a thought" in opened.draft.form.read_text()


def test_an_editor_with_arguments_and_quotes_is_understood(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a folder").mkdir()
    command = filling(tmp_path / "a folder").split(" ", 1)
    monkeypatch.setenv("EDITOR", f"{command[0]} -B '{command[1]}'")
    trialbook(root, "review", "next", "--reviewer", "ann")


def test_without_an_editor_the_packet_is_written_and_handed_in_as_a_file(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EDITOR", raising=False)
    monkeypatch.delenv("VISUAL", raising=False)
    done = trialbook(root, "review", "next", "--reviewer", "ann", "--no-edit")
    form = form_in(done.stdout)
    text = filled(form.read_text())
    form.write_text(text)
    trialbook(root, "review", "check", str(form))
    # Nobody saw how long that took, and it is not taken for no time at all.
    done = trialbook(root, "review", "submit", str(form), check=2)
    assert "write how many minutes it took you" in done.stderr
    assert form.read_text() == text
    form.write_text(text.replace("minutes:", "minutes: 7"))
    answer = json.loads(trialbook(root, "review", "submit", str(form), "--json").stdout)
    assert "minutes: 7" in git(root, "show", "HEAD")
    assert answer["left"] == 2
    assert answer["sealed"] is True
    assert not form.exists()


def test_a_file_from_elsewhere_needs_its_minutes(root: Path, tmp_path: Path) -> None:
    opened = a_desk(root).next("ann")
    assert opened is not None
    text = filled(opened.draft.form.read_text())
    opened.draft.remove()
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    done = trialbook(root, "review", "submit", str(file), check=2)
    assert "minutes" in done.stderr
    file.write_text(text.replace("minutes:", "minutes: 12.5  # on the train"))
    done = trialbook(root, "review", "submit", str(file))
    assert "12.5 minutes" in done.stdout
    assert "# on the train" in git(root, "show", "HEAD")


def test_a_review_is_handed_in_once(root: Path, tmp_path: Path) -> None:
    desk = a_desk(root)
    opened = desk.next("ann")
    assert opened is not None
    text = filled(opened.draft.form.read_text()).replace("minutes:", "minutes: 1")
    opened.draft.form.write_text(text)
    desk.hand_in(opened, Guess(configuration="unknown"))
    file = tmp_path / "again.yaml"
    file.write_text(
        text.replace("MERGE", "REJECT").replace("findings: []", "findings: [{text: no}]")
    )
    with pytest.raises(UserError, match="has handed in a review of the packet"):
        a_desk(root).submit(file, "again.yaml")


def test_the_time_is_taken_while_the_editor_is_open_and_may_be_corrected(root: Path) -> None:
    opened = a_desk(root).next("ann")
    assert opened is not None
    draft = opened.draft
    draft.begin()
    later = time.time() + 300
    draft.form.write_text(filled(draft.form.read_text()))
    os.utime(draft.form, (later, later))
    # It was killed: what is known is that the form was written five minutes after.
    draft.begin()
    draft.end()
    assert draft.minutes == pytest.approx(5, abs=0.2)
    done = a_desk(root).hand_in(opened, None)
    assert done.review.minutes == pytest.approx(5, abs=0.2)
    opened = a_desk(root).next("ann")
    assert opened is not None
    text = filled(opened.draft.form.read_text()).replace("minutes:", "minutes: 90")
    opened.draft.form.write_text(text)
    assert a_desk(root).hand_in(opened, None).review.minutes == 90


def test_what_was_typed_is_there_after_kill_9(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = """
        path.write_text(path.read_text() + '# typed\\n')
        (path.parent / 'typed').touch()
        import time
        time.sleep(30)
    """
    monkeypatch.setenv("EDITOR", editor(tmp_path, "slow.py", body))
    argv = [sys.executable, "-m", "trialbook", "review", "next", "--reviewer", "ann"]
    with subprocess.Popen(
        argv, cwd=root, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True
    ) as child:
        folder = root / ".git" / "trialbook" / "runs" / RUN.suite / RUN.run / "reviews" / "ann"
        for _ in range(300):
            if list(folder.glob("*/typed")):
                break
            time.sleep(0.05)
        os.killpg(child.pid, signal.SIGKILL)
    opened = a_desk(root).next("ann")
    assert opened is not None
    assert not opened.fresh
    assert opened.draft.form.read_text().endswith("# typed\n")


def test_what_was_typed_is_there_when_the_ledger_cannot_be_written(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = a_desk(root)
    opened = desk.next("ann")
    assert opened is not None
    opened.draft.form.write_text(filled(opened.draft.form.read_text()))

    def full(*_: object) -> str:
        raise EnvironmentProblem("cannot write pack: No space left on device", hint="make room")

    monkeypatch.setattr(desk.ledger, "commit", full)
    with pytest.raises(EnvironmentProblem) as caught:
        desk.hand_in(opened, None)
    assert str(opened.draft.form) in caught.value.hint
    assert opened.draft.there
    assert a_desk(root).hand_in(opened, None).left == 2


def test_a_draft_that_was_made_by_half_is_made_again(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(path: Path, data: bytes, **named: object) -> None:
        if path.name == "review.yaml":
            raise EnvironmentProblem("full")
        write_atomic(path, data)

    with monkeypatch.context() as patch:
        patch.setattr("trialbook.workflow.review_drafts.write_atomic", dies)
        with pytest.raises(EnvironmentProblem):
            a_desk(root).next("ann")
    opened = a_desk(root).next("ann")
    assert opened is not None
    assert opened.fresh
    assert opened.draft.page.is_file()


@pytest.mark.slow
def test_at_a_terminal_the_editor_opens_again_and_the_guess_is_asked_last(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = str(Path(__file__).resolve().parents[2])
    body = FILL.format(top=top, more="") + (
        "    first = path.parent / 'first'\n"
        "    if not first.exists():\n"
        "        first.touch()\n"
        "        path.write_text(path.read_text().replace('verdict: MERGE', 'verdict: MERG'))\n"
    )
    monkeypatch.setenv("EDITOR", editor(tmp_path, "twice.py", body))
    argv = [sys.executable, "-m", "trialbook", "review", "next", "--reviewer", "ann"]
    pid, terminal = pty.fork()
    if pid == 0:  # pragma: no cover - the child
        os.chdir(root)
        os.execv(argv[0], argv)
    said = b""
    answers = [(b"again?", b"y\n"), (b"made this change?", b"yak-flow\n"), (b"percent?", b"35\n")]
    try:
        while True:
            part = os.read(terminal, 4096)
            said += part
            if answers and answers[0][0] in said:
                os.write(terminal, answers.pop(0)[1])
            if not part:
                break
    except OSError:
        pass
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, said
    assert b"`MERG` is no verdict" in said
    assert "guess: {configuration: yak-flow, sure: 35}" in git(root, "show", "HEAD")


@pytest.mark.slow
def test_two_branches_of_two_reviewers_merge_without_a_conflict(root: Path) -> None:
    for name in ("ann", "bob"):
        git(root, "checkout", "-q", "-b", name, "main")
        assert len(review_all(root, name)) == 3
    git(root, "checkout", "-q", "main")
    git(root, "merge", "-q", "--no-edit", "ann")
    git(root, "merge", "-q", "--no-edit", "bob")
    done = json.loads(trialbook(root, "review", "status", "--json").stdout)
    assert done[0]["complete"] == ["ann", "bob"]
    assert done[0]["sealed"] is False


def test_a_rubric_that_was_changed_since_is_refused(root: Path) -> None:
    file = root / "rubrics/small/v1.md"
    file.write_text(file.read_text() + "\nOne more word.\n")
    with pytest.raises(UserError, match="is not the one that"):
        a_desk(root).next("ann")


@pytest.mark.parametrize("name", ["Ann", "a b", "", "../x", "ann.yaml", "a" * 41])
def test_a_name_that_cannot_be_a_folder_is_refused(root: Path, name: str) -> None:
    with pytest.raises(UserError, match="no name of a reviewer"):
        a_desk(root).next(name)
