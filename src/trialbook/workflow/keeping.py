"""What is kept of a trial: free of secrets first, and only then cut to size.

Works on bytes in memory, so that nothing an agent wrote is on the disk of the ledger before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from trialbook.errors import EnvironmentProblem, TrialbookError
from trialbook.formats.cut_log import cut_log
from trialbook.formats.records import from_json, plain, to_json
from trialbook.model.grade import Grade
from trialbook.model.runfiles import PATCH, visible_grade
from trialbook.model.suite import ArtifactPolicy
from trialbook.model.trial import CutFile, Trial, TrialBundle
from trialbook.storage.large import FULL_FOLDER, pointer_to
from trialbook.storage.redact import Redactor, Scan
from trialbook.storage.redact_patch import redact_patch
from trialbook.storage.spans import Span

T = TypeVar("T")

_KILOBYTE = 1000
_SNIFFED = 8000
# Keys of records whose values are words of ours, names from the suite, digests and times.
# fmt: off
_FIXED = frozenset(
    {
        "schema", "run", "suite", "status", "task", "configuration", "replaces",
        "rerun_reason", "incident", "outcome", "plan_commit", "plan_sha256", "started", "finished",
        "source", "snapshot_tree", "baseline_tree", "baseline_commit", "tree", "head",
        "base",
        "brief_sha256", "patch_sha256", "rubric_sha256", "prompt_sha256", "schema_sha256",
        "sha256", "grader", "ended", "basis", "severity", "kind", "id", "part", "moment",
        "redactions", "cut", "artifacts",
    }
)
# fmt: on


@dataclass(slots=True, kw_only=True)
class Kept:
    """A trial's files as they may be kept, and what was done to them.

    ``large`` holds whole contents of which ``files`` has a pointer, by sha256. ``problems`` are
    reasons why the trial may not be committed.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    grades: list[Grade] = field(default_factory=list)
    large: dict[str, bytes] = field(default_factory=dict)
    cut: list[CutFile] = field(default_factory=list)
    redactions: Counter[str] = field(default_factory=Counter)
    patch_redacted: bool = False
    problems: list[str] = field(default_factory=list)


class Keeper:
    """Decides what is kept of one trial.

    Args:
        secrets: The values that were passed in, by name.
        policy: What becomes of long logs.
        scan: A further way to find secrets. If it fails, the trial may not be committed.
    """

    def __init__(
        self, secrets: Mapping[str, str], policy: ArtifactPolicy, scan: Scan | None = None
    ) -> None:
        self._failures: list[str] = []
        self._redactor = Redactor(secrets, None if scan is None else self._guarded(scan))
        self._policy = policy

    def _guarded(self, scan: Scan) -> Scan:
        def guarded(data: bytes) -> Iterable[Span]:
            try:
                return list(scan(data))
            except EnvironmentProblem as problem:
                self._failures.append(f"{problem.message} ({problem.hint})")
                return ()

        return guarded

    def keep(
        self, files: Mapping[str, bytes], patch: bytes | None, grades: Iterable[Grade]
    ) -> Kept:
        """The files of a trial's folder, but for its record.

        Grades are judgements of the true bytes; only what they quote is redacted.
        """
        kept = Kept()
        for path, data in files.items():
            clean, counts = self._redactor.redact(data, cut=True)
            kept.redactions += counts
            self._keep_log(kept, self._name(kept, path), clean)
        if patch is not None:
            kept.patch_redacted = self.keep_patch(kept, patch, PATCH)
        for grade in grades:
            clean_grade = self.keep_grade(kept, grade, f"grades/{grade.grader}.json")
            kept.grades.append(clean_grade)
        kept.problems += self._failures
        return kept

    def keep_attempt(
        self, kept: Kept, folder: str, patch: bytes | None, grades: Iterable[Grade]
    ) -> tuple[bool, list[Grade]]:
        """Add what an attempt left and what visible checks said of it, below the attempt's folder.

        Gives whether something was taken out of the patch, and the grades as they are kept.
        """
        redacted = False
        if patch is not None:
            redacted = self.keep_patch(kept, patch, f"{folder}/{PATCH}")
        paths = ((grade, visible_grade(folder, grade.grader)) for grade in grades)
        clean = [self.keep_grade(kept, grade, path) for grade, path in paths]
        kept.problems += self._failures
        return redacted, clean

    def keep_record(self, kept: Kept, record: T, path: str) -> T:
        """Keep a record of a file of its own; gives it as it is kept."""
        clean = self._record(kept, type(record), record, path)
        kept.files[path] = to_json(clean)
        return clean

    def keep_grade(self, kept: Kept, grade: Grade, path: str) -> Grade:
        """Keep a grade; gives it as it is kept."""
        clean = self._record(kept, Grade, grade, f"the grade of {grade.grader}")
        kept.files[path] = to_json(clean)
        return clean

    def bundle(self, record: Trial, kept: Kept) -> TrialBundle:
        """The record, free of secrets too, with the files: what may be committed, or why not."""
        clean = self._record(kept, Trial, record, "trial.json")
        final = Trial(**{**_fields(clean), "redactions": dict(sorted(kept.redactions.items()))})
        if kept.redactions:
            for path, data in (*kept.files.items(), ("trial.json", to_json(final))):
                left = self._redactor.known_values(path.encode("utf-8", "replace") + b"\n" + data)
                if left:
                    kept.problems.append(f"{path}: {', '.join(left)} cannot be taken out of it")
        return TrialBundle(
            record=final,
            files=kept.files,
            large=kept.large,
            withheld=tuple(dict.fromkeys(self._failures + kept.problems)),
        )

    def _name(self, kept: Kept, path: str) -> str:
        """The path without what is secret in it, and as no other file has it."""
        clean, counts = self._redactor.redact_text(path)
        if not counts:
            return path
        kept.redactions += counts
        clean = clean.replace("[redacted:", "redacted-").replace("]", "")
        name, number = clean, 1
        while name in kept.files:
            number += 1
            name = f"{clean}-{number}"
        return name

    def keep_patch(self, kept: Kept, patch: bytes, path: str) -> bool:
        """Keep a patch; gives whether something was taken out of it."""
        clean = redact_patch(patch, self._redactor)
        kept.redactions += clean.counts
        kept.problems += clean.problems
        kept.files[path] = clean.data
        return clean.data != patch

    def _keep_log(self, kept: Kept, path: str, data: bytes) -> None:
        """Keep a file; of a long log, its beginning and end, and the whole elsewhere."""
        kept.files[path] = data
        limit = self._policy.keep_kb
        if limit is None or not _is_log(path, data):
            return
        full = f"{FULL_FOLDER}/{path}" if self._policy.full == "lfs" else None
        short = cut_log(data, int(limit * _KILOBYTE), full)
        if short is None:
            return
        pointer = pointer_to(data)
        kept.files[path] = short
        kept.cut.append(CutFile(path=path, bytes=len(data), sha256=pointer.sha256, full=full))
        if full is not None:
            kept.files[full] = pointer.text
            kept.large[pointer.sha256] = data

    def _record(self, kept: Kept, kind: type[T], record: T, shown: str) -> T:
        """A record whose free texts are redacted; what is fixed must not hold anything secret."""
        written = plain(record)
        texts = "\n".join(_texts(written)).encode("utf-8", "surrogatepass")
        redactor = self._redactor.narrowed(texts)
        if redactor is None:
            return record
        value = self._values(kept, written, shown, redactor)
        try:
            return from_json(kind, to_json(value), shown)
        except TrialbookError as error:
            kept.problems.append(f"{shown}: cannot be redacted: {error.message}")
            return record

    def _values(self, kept: Kept, value: Any, shown: str, redactor: Redactor) -> Any:  # noqa: ANN401 - plain JSON
        if isinstance(value, str):
            clean, counts = redactor.redact_text(value)
            if counts:
                kept.redactions += counts
            return clean
        if isinstance(value, list | tuple):
            return [self._values(kept, item, shown, redactor) for item in value]
        if not isinstance(value, dict):
            return value
        clean_items = {}
        for key, item in value.items():
            if key in _FIXED:
                left = redactor.known_values(to_json(item)) if redactor.values else ()
                kept.problems += [
                    f"{shown}: the value of {name} is in its `{key}`" for name in left
                ]
                clean_items[key] = item
            else:
                clean_items[key] = self._values(kept, item, shown, redactor)
        return clean_items


def _texts(value: Any) -> Iterator[str]:  # noqa: ANN401 - plain JSON
    """Every text in a value that is free to say anything."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key not in _FIXED:
                yield from _texts(item)


def _is_log(path: str, data: bytes) -> bool:
    """Whether a file is a log of a session: text that nothing but people reads."""
    if not path.startswith("sessions/") or path.endswith((".json", "/prompt.md")):
        return False
    return path.endswith((".txt", ".log")) or b"\0" not in data[:_SNIFFED]


def _fields(record: Trial) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__dataclass_fields__}
