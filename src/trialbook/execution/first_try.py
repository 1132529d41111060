"""What an agent is given for a first try: one short question, an empty folder, an open network."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from trialbook.api import (
    Agent,
    Assignment,
    Command,
    Limits,
    Policy,
    ProcessResult,
    Sandbox,
    StopWhen,
)
from trialbook.execution.room import Room, environment_of
from trialbook.execution.toolchain import bare_python
from trialbook.model.process import Desk
from trialbook.model.suite import Configuration
from trialbook.process import run
from trialbook.storage.interpreter import interpreter_folders
from trialbook.supervision.stopping import stoppable
from trialbook.system import System

PROMPT = "Answer with the one word: ready. Change nothing, and use no tool.\n"

_LIMITS = Limits(minutes=3.0, turns=1)


def first_assignment(
    configuration: Configuration, agent: Agent, sandbox: Sandbox, system: System, room: Room
) -> Assignment:
    """An assignment in a room of its own; its commands run in that sandbox."""
    room.make(PROMPT)
    room.workspace.mkdir()
    python = bare_python()
    policy = Policy(
        writable=(room.workspace, room.home),
        readable=(room.prompt_file, *interpreter_folders(python), *_readable(agent, configuration)),
        scratch=(room.temporary,),
        network=configuration.network,
        limits=_LIMITS,
    )

    def start(command: Command, stop_when: StopWhen | None) -> ProcessResult:
        def sandboxed(cancel: threading.Event) -> ProcessResult:
            return sandbox.start(command, policy, partial(run, cancel=cancel))

        return stoppable(sandboxed, stop_when)

    desk = Desk(
        cwd=room.workspace,
        environment=environment_of(configuration, room, None, system.environ),
        output=room.output,
    )
    return Assignment(
        task="try",
        repetition=1,
        workspace=room.workspace,
        prompt=PROMPT,
        prompt_file=room.prompt_file,
        home=room.home,
        output=room.output,
        files=None,
        model=configuration.model,
        reasoning=None,
        approval=None,
        parameters=configuration.parameters,
        limits=_LIMITS,
        start=desk.start(start),
        python=python,
    )


def _readable(agent: Agent, configuration: Configuration) -> Iterable[Path]:
    readable = getattr(agent, "readable", None)
    return () if readable is None else map(Path, readable(configuration.parameters))
