"""What is known of a run of Codex, and the words that its two kinds of records share."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field

from trialbook.api import Event, Usage
from trialbook_agents.shapes import Json, count, listed, without

_SHELL_WORDS = 3


@dataclass(slots=True, kw_only=True)
class CodexRun:
    """What is known of a run of Codex.

    ``failure`` is the last word of a turn that failed, ``error_info`` its name for that, where the
    rollout has one. ``completed`` says that a turn was completed.
    """

    version: str | None = None
    session: str | None = None
    model: str | None = None
    completed: bool = False
    failure: str | None = None
    error_info: object = None
    events: tuple[Event, ...] = ()
    unknown: int = 0
    cut: bool = False
    last_words: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    from_rollout: bool = False


def usage_of(said: Json) -> Usage:
    """Tokens as Codex counts them: what it read includes what came from the cache."""
    whole = count(said.get("input_tokens"))
    read = count(said.get("cached_input_tokens")) or 0
    written = count(said.get("cache_write_input_tokens")) or 0
    return Usage(
        input_tokens=without(whole, read, written),
        cache_read_tokens=None if whole is None else read,
        cache_write_tokens=None if whole is None else written,
        output_tokens=count(said.get("output_tokens")),
        reasoning_tokens=count(said.get("reasoning_output_tokens")),
    )


def bare_command(command: object) -> str:
    """A command without the shell that it is handed to."""
    words: list[str] = [str(word) for word in listed(command)]
    if isinstance(command, str):
        try:
            words = shlex.split(command) if command.startswith(("/bin/", "bash ", "sh ")) else []
        except ValueError:
            words = []
    if len(words) == _SHELL_WORDS and words[1] in {"-lc", "-c"}:
        return words[2]
    return command if isinstance(command, str) else shlex.join(words)
