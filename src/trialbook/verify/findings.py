"""What verification comes to: faults, notes, and what could not be checked."""

from __future__ import annotations

from dataclasses import dataclass, field

from trialbook.verify.codes import Code


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Fault:
    """One thing that is wrong. ``path`` is relative to the ledger's root."""

    code: Code
    path: str
    commit: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Unchecked:
    """Something that could not be checked: why not, how it can be, and how many times."""

    what: str
    reason: str
    hint: str
    times: int = 1


@dataclass(slots=True)
class Findings:
    """Collects while the checks go on; faults are kept in the order found, each once."""

    faults: list[Fault] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    _unchecked: dict[tuple[str, str, str], int] = field(default_factory=dict)
    _seen: set[Fault] = field(default_factory=set)

    def fault(self, code: Code, detail: str, *, path: str = "", commit: str = "") -> None:
        """Something is wrong."""
        found = Fault(code=code, path=path, commit=commit, detail=detail)
        if found not in self._seen:
            self._seen.add(found)
            self.faults.append(found)

    def note(self, text: str) -> None:
        """Something to know that is no fault."""
        self.notes.append(text)

    def not_checked(self, what: str, reason: str, hint: str) -> None:
        """Something could not be checked."""
        key = what, reason, hint
        self._unchecked[key] = self._unchecked.get(key, 0) + 1

    def take(self, other: Findings) -> None:
        """Add what others found."""
        for fault in other.faults:
            self.fault(fault.code, fault.detail, path=fault.path, commit=fault.commit)
        self.notes += other.notes
        for key, times in other._unchecked.items():
            self._unchecked[key] = self._unchecked.get(key, 0) + times

    @property
    def unchecked(self) -> list[Unchecked]:
        """What could not be checked, the same things counted together."""
        return [
            Unchecked(what=what, reason=reason, hint=hint, times=times)
            for (what, reason, hint), times in self._unchecked.items()
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The end of a verification.

    ``head`` is the commit that was verified, empty for a ledger without commits. ``witness`` and
    ``signers`` say against what it was held, None for nothing.
    """

    head: str
    witness: str | None
    signers: str | None
    commits: int
    objects: int
    runs: int
    trials: int
    faults: tuple[Fault, ...]
    notes: tuple[str, ...]
    unchecked: tuple[Unchecked, ...]

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong."""
        return not self.faults
