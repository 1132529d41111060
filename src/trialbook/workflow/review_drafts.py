"""A reviewer's drafts: in the git folder, never committed, and never in danger.

A draft is one folder with the form and what is to be judged. It is made once, only the person's
editor writes the form afterwards, and it goes when the ledger has the review.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from trialbook.errors import EnvironmentProblem, UserError
from trialbook.formats.authored import parse_document, read_text
from trialbook.formats.editing import edit_text
from trialbook.formats.records import RecordError, from_json, to_json
from trialbook.model.review import Guess
from trialbook.review.form import without_our_comments
from trialbook.storage.files import read_regular, remove_tree, write_atomic
from trialbook.system import System, parse_timestamp, timestamp

FORM = "review.yaml"
PAGE = "packet.html"
BRIEF = "brief.md"
CHANGE = "change.diff"
_TEMPLATE = ".form.yaml"
_STATE = ".sitting.json"
_SECONDS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Sitting:
    """How long a draft was worked on: seconds so far, and since when it is open; None: it is not.

    Times are UTC.
    """

    seconds: float = 0.0
    opened: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """The folder of one draft."""

    folder: Path
    system: System

    @property
    def form(self) -> Path:
        """What the person fills in."""
        return self.folder / FORM

    @property
    def page(self) -> Path:
        """What there is to judge, for a browser."""
        return self.folder / PAGE

    @property
    def there(self) -> bool:
        """Whether it was made."""
        return self.form.is_file()

    def make(self, files: Callable[[], Mapping[str, bytes]]) -> bool:
        """Make it, unless it is there; gives whether it is new.

        Raises:
            EnvironmentProblem: it cannot be written.
        """
        if self.there:
            return False
        made = files()
        for name, data in made.items():
            if name != FORM:
                write_atomic(self.folder / name, data)
        write_atomic(self.folder / _TEMPLATE, made[FORM])
        # Last: with it, the draft is whole.
        write_atomic(self.form, made[FORM], durable=True)
        return True

    @property
    def started(self) -> str | None:
        """When its form was made, as the form has it; None if that cannot be read any more."""
        data = read_regular(self.folder / _TEMPLATE)
        document, _ = parse_document((data or b"").decode(), "")
        return None if document is None else str(document.data["started"])

    def begin(self) -> None:
        """Note that the editor opens. What a sitting took that was killed is counted."""
        sitting = self._sitting()
        seconds = sitting.seconds + self._unfinished(sitting)
        self._note(Sitting(seconds=seconds, opened=timestamp(self.system.now())))

    def end(self) -> None:
        """Note that it has closed."""
        sitting = self._sitting()
        if sitting.opened is not None:
            now = self.system.now()
            seconds = max(0.0, (now - parse_timestamp(sitting.opened)).total_seconds())
            self._note(Sitting(seconds=sitting.seconds + seconds))

    @property
    def minutes(self) -> float:
        """Minutes in which the editor was open, to a tenth."""
        sitting = self._sitting()
        return round((sitting.seconds + self._unfinished(sitting)) / _SECONDS, 1)

    def need_minutes(self, form: Path | None = None) -> None:
        """Hold it back if nobody can know how long it took: no editor was timed, and it is silent.

        ``form`` is what is handed in; by default the draft's own.

        Raises:
            UserError: that is so.
        """
        form = form or self.form
        text, _ = read_text(form, str(form))
        document, _ = parse_document(text or "", str(form))
        if document is None or read_regular(self.folder / _STATE) is not None:
            return
        if document.data.get("minutes") is None:
            at = ("minutes",) if "minutes" in document.data else ()
            message = "`minutes` is empty, and no editor was opened here whose time is known"
            hint = "write how many minutes it took you"
            raise UserError(problems=[document.problem(at, message, hint)])

    def finished(self, text: str, guess: Guess | None) -> str:
        """What goes into the ledger: without our comments, with what is filled in at the end.

        Args:
            text: The form as the person left it.
            guess: What they answered to who made it.
        """
        template = read_regular(self.folder / _TEMPLATE)
        if template is not None:
            text = without_our_comments(text, template.decode())
        return completed(text, self.system, guess, self.minutes)

    def remove(self) -> None:
        """Take it away; what is in it is in the ledger."""
        remove_tree(self.folder)

    def _unfinished(self, sitting: Sitting) -> float:
        """Seconds of a sitting whose end nobody saw: until the form was last written."""
        if sitting.opened is None or not self.there:
            return 0.0
        written = datetime.fromtimestamp(self.form.stat().st_mtime, UTC)
        return max(0.0, (written - parse_timestamp(sitting.opened)).total_seconds())

    def _sitting(self) -> Sitting:
        data = read_regular(self.folder / _STATE)
        try:
            return Sitting() if data is None else from_json(Sitting, data, _STATE)
        except RecordError:
            return Sitting()

    def _note(self, sitting: Sitting) -> None:
        try:
            write_atomic(self.folder / _STATE, to_json(sitting))
        except EnvironmentProblem:
            # A full disk must not keep a person from writing: the time is theirs to correct.
            return


def completed(text: str, system: System, guess: Guess | None, minutes: float | None) -> str:
    """A review with minutes, guess and the time of handing in, where they are not in it yet."""
    document, problems = parse_document(text, "")
    data = document.data if document is not None and not problems else None
    if not isinstance(data, dict):
        return text
    if data.get("minutes") is None and minutes is not None:
        text = edit_text(text, ("minutes",), minutes)
    if guess is not None and data.get("guess") is None:
        said = {"configuration": guess.configuration}
        text = edit_text(
            text, ("guess",), said | ({} if guess.sure is None else {"sure": guess.sure})
        )
    if data.get("submitted") is None:
        text = edit_text(text, ("submitted",), timestamp(system.now()))
    return text
