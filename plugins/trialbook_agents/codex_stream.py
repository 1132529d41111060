"""Reads what Codex prints (``exec --json``)."""

from __future__ import annotations

from trialbook.api import EventKind, Usage, added
from trialbook_agents.codex_run import CodexRun, bare_command, usage_of
from trialbook_agents.events import EventLog, output_of
from trialbook_agents.shapes import Json, listed, mapping, number, text, text_or_none

RECONNECTING = "Reconnecting..."


class Printed:
    """Goes through the records of standard output."""

    def __init__(self, run: CodexRun, log: EventLog) -> None:
        self.run = run
        self.log = log
        self._used: list[Usage] = []

    def usage(self) -> Usage:
        """What completed turns used; how many calls that took is not told."""
        return added(self._used)

    def record(self, record: Json) -> None:
        """One record."""
        kind = text(record.get("type"))
        if kind == "thread.started":
            self.run.session = text_or_none(record.get("thread_id"))
        elif kind == "turn.completed":
            self.run.completed, self.run.failure = True, None
            self._used.append(usage_of(mapping(record.get("usage"))))
        elif kind == "turn.failed":
            self.run.failure = text(mapping(record.get("error")).get("message")) or "it failed"
            self.log.add(EventKind.ERROR, text=self.run.failure)
        elif kind == "error":
            self._error(text(record.get("message")))
        elif kind in {"item.started", "item.updated", "item.completed"}:
            self._item(mapping(record.get("item")), done=kind == "item.completed")
        elif kind != "turn.started":
            self.run.unknown += 1

    def _error(self, said: str) -> None:
        if said.startswith(RECONNECTING):
            self.log.add(EventKind.RETRY, text=said)

    def _item(self, item: Json, *, done: bool) -> None:
        kind, identity = text(item.get("type")), text(item.get("id"))
        if kind == "command_execution":
            self._command(item, identity)
        elif kind == "file_change":
            self._change(item, identity)
        elif kind in {"agent_message", "reasoning"}:
            if done:
                what = EventKind.MESSAGE if kind == "agent_message" else EventKind.REASONING
                self.log.add(what, text=text(item.get("text")))
        elif kind == "error":
            self.log.add(EventKind.NOTICE, text=text(item.get("message")))
        elif done:
            what = EventKind.SEARCH if kind == "web_search" else EventKind.TOOL
            said = text(item.get("query"))
            self.log.add(what, tool=text_or_none(item.get("tool")) or kind, text=said)

    def _command(self, item: Json, identity: str) -> None:
        if self.log.called(identity) is None:
            self.log.add(
                EventKind.COMMAND,
                tool="exec_command",
                call=identity,
                command=bare_command(item.get("command")),
            )
        status = item.get("status")
        if status != "in_progress":
            self.log.answer(
                identity,
                exit_code=number(item.get("exit_code")),
                ok=status == "completed",
                denied=status == "declined" or None,
                **output_of(text(item.get("aggregated_output"))),
            )

    def _change(self, item: Json, identity: str) -> None:
        if self.log.called(identity) is None:
            for change in listed(item.get("changes")):
                about = mapping(change)
                self.log.add(
                    EventKind.WRITE,
                    tool="apply_patch",
                    call=identity,
                    path=text(about.get("path")),
                    text=text(about.get("kind")),
                )
        if item.get("status") != "in_progress":
            self.log.answer(identity, ok=item.get("status") == "completed")
