"""Runs the program again and again in forked children, so that its start costs next to nothing.

Reads one request a line from standard input, and answers each with one line: the child's exit
status (negative for the signal that ended it) and, if faults were asked for, how many calls it made
that change a disk.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import mmap
import os
import resource
import struct
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import trialbook
from tests.crashes.faults import Faults
from trialbook.cli.main import COMMANDS, main
from trialbook.errors import EnvironmentProblem
from trialbook.registry import Registry

# As `python -m trialbook` has it.
_MAIN = str(Path(trialbook.__file__).with_name("__main__.py"))
_NUMBER = struct.Struct("Q")
_calls = mmap.mmap(-1, _NUMBER.size)


def serve() -> None:
    """Work until standard input ends."""
    for module, _ in COMMANDS.values():
        importlib.import_module(module)
    for plugin in Registry().all():
        with contextlib.suppress(EnvironmentProblem):
            plugin.make()
    _say("ready")
    for line in sys.stdin:
        request = json.loads(line)
        _NUMBER.pack_into(_calls, 0, 0)
        child = os.fork()
        if child == 0:
            _child(request)
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        _say(json.dumps({"code": code, "calls": _NUMBER.unpack_from(_calls)[0]}))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _child(request: Mapping[str, Any]) -> None:
    code = 71
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for handle, name in ((1, request["out"]), (2, request["err"])):
            os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), handle)
        os.chdir(request["cwd"])
        os.environ.clear()
        os.environ.update(request["environ"])
        time.tzset()
        tempfile.tempdir = None  # it remembers the place, and the environment names another
        sys.argv = [_MAIN, *request["arguments"]]
        if request.get("file_limit"):
            resource.setrlimit(resource.RLIMIT_FSIZE, (request["file_limit"],) * 2)
        if "log" in request:
            _install_faults(request)
        code = main(request["arguments"])
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:  # noqa: BLE001 - the child must end here, whatever happens
        traceback.print_exc()
    finally:
        os._exit(code)


def _install_faults(request: Mapping[str, Any]) -> None:
    log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    write = os.write

    def told(number: int, what: str) -> None:
        _NUMBER.pack_into(_calls, 0, number)
        write(log, f"{number} {what}\n".encode("utf-8", "replace"))

    Faults(
        at=request["at"], kind=request["kind"], below=tuple(request["below"]), told=told
    ).install()


if __name__ == "__main__":
    serve()
