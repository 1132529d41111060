"""What changed in a workspace, as trials record it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class OmittedFile:
    """A file of the final state that is too large for the patch, or that git cannot store."""

    path: str
    bytes: int | None
    sha256: str | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnChange:
    """What the agents of a series changed themselves: all but what was laid in between sessions.

    ``own.patch`` turns ``base``, the baseline with what was laid in, into the tree that is left.
    Numbers, ``redacted`` and ``lines_before`` are of that patch, as those of a `ChangeRecord`.
    """

    base: str
    patch_sha256: str
    files: int
    insertions: int
    deletions: int
    redacted: bool = False
    lines_before: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRecord:
    """The change: ``change.patch`` turns the baseline's tree into ``tree``.

    Unless it is ``redacted``: then something secret was taken out of the patch after grading, so
    that it still reads as a patch but no longer gives ``tree``, which is the true final state.
    ``lines_before`` has the number of lines of files that lines were taken out of, by their old
    path: the baseline itself is not in the ledger. ``own`` is null where nothing was laid in
    between sessions: then all of it is the agent's own.
    """

    tree: str
    patch_sha256: str
    files: int
    insertions: int
    deletions: int
    omitted: tuple[OmittedFile, ...] = ()
    redacted: bool = False
    lines_before: dict[str, int] = field(default_factory=dict)
    own: OwnChange | None = None

    @property
    def by_agent(self) -> OwnChange | ChangeRecord:
        """What the agent changed, in files and lines."""
        return self.own or self


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptChange:
    """What an attempt left, where another one followed: its ``change.patch`` is with its files.

    The patch turns the trial's baseline into ``tree``, unless it is ``redacted``: see
    `ChangeRecord`. ``omitted`` counts files that stand in no patch.
    """

    tree: str
    files: int
    insertions: int
    deletions: int
    omitted: int = 0
    redacted: bool = False
