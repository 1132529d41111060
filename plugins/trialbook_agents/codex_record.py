"""Reads what Codex printed and kept: events, usage, and how it says that a turn ended.

Its rollouts (one file for each session, below its home) have times, every call of the model, and
the errors by name; what it prints (``exec --json``) has less, and counts where there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trialbook.api import EventKind, Usage, added
from trialbook_agents.codex_rollout import Rollout
from trialbook_agents.codex_run import CodexRun
from trialbook_agents.codex_stream import Printed
from trialbook_agents.events import EventLog
from trialbook_agents.jsonl import Records

_TOKENS = (
    *("input_tokens", "cache_read_tokens", "cache_write_tokens"),
    *("output_tokens", "reasoning_tokens"),
)


def read_codex(
    stream: Records, rollouts: Sequence[Records], prompt: str, workspace: Path
) -> CodexRun:
    """Everything that a run left.

    Args:
        stream: What it printed.
        rollouts: Its own records, the session's first, then those of sub-agents.
        prompt: What it was asked.
        workspace: Where it worked.
    """
    run = CodexRun(unknown=stream.broken, cut=stream.cut, from_rollout=bool(rollouts))
    printed = Printed(run, EventLog(workspace))
    printed.log.add(EventKind.PROMPT, text=prompt)
    for record in stream.items:
        printed.record(record)
    log = printed.log
    if rollouts:
        log = EventLog(workspace)
        log.add(EventKind.PROMPT, text=prompt)
        readers = [Rollout(run, log, main=place == 0) for place in range(len(rollouts))]
        for reader, rollout in zip(readers, rollouts, strict=True):
            run.unknown += rollout.broken
            run.cut = run.cut or rollout.cut
            for record in rollout.items:
                reader.record(record)
        used = [usage for reader in readers for usage in reader.calls]
        calls = sum(len(reader.calls) for reader in readers)
        known = _at_least(added(used), printed.usage()) if used else printed.usage()
        run.usage = _usage(known, calls if used else None, len(readers[0].calls) if used else None)
    else:
        run.usage = printed.usage()
    run.events = log.events()
    messages = [e.text for e in run.events if e.kind is EventKind.MESSAGE and e.agent is None]
    run.last_words = tuple(messages[-1:])
    return run


def _at_least(kept: Usage, printed: Usage) -> Usage:
    """What was kept, which an agent could change, and never less than what was printed."""
    found: dict[str, Any] = {
        name: max(getattr(kept, name) or 0, getattr(printed, name) or 0)
        for name in _TOKENS
        if getattr(kept, name) is not None or getattr(printed, name) is not None
    }
    return Usage(**found)


def _usage(total: Usage, calls: int | None, turns: int | None) -> Usage:
    return Usage(
        input_tokens=total.input_tokens,
        cache_read_tokens=total.cache_read_tokens,
        cache_write_tokens=total.cache_write_tokens,
        output_tokens=total.output_tokens,
        reasoning_tokens=total.reasoning_tokens,
        model_calls=calls,
        turns=turns,
    )
