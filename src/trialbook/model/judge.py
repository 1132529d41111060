"""A judge as its author wrote it: a client with a model that answers a rubric about a diff."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from trialbook.model.suite import GivenLimits, Network

JUDGE_PREFIX = "judge-"
"""What the name of a judge's grade, and of a judge in an acceptance policy, begins with."""

DEFAULT_RUBRIC = "merge@1"
"""The rubric that is meant where nothing names another."""

DEFAULT_DIFF_KB = 200.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """What ``rubrics/judges/<name>.yaml`` says.

    ``client`` is an agent plugin that can judge, ``parameters`` are its own (key ``with``).
    ``version`` is that of the client's program, if it is pinned. ``votes`` is how often each diff
    is judged anew; it is odd. ``files`` is a folder below ``rubrics/judges/`` that is copied
    beside the judge, ``digests`` are of what lies in it. A diff longer than ``diff_kb``
    kilobytes (1 kB = 1,000 bytes) is not shown to it. ``limits`` holds only what the file gives.
    """

    name: str
    client: str
    model: str | None = None
    reasoning: str | None = None
    version: str | None = None
    votes: int = 1
    diff_kb: float = DEFAULT_DIFF_KB
    sandbox: str | None = None
    network: Network = field(default_factory=lambda: Network(mode="none"))
    environment: dict[str, str] = field(default_factory=dict)
    pass_environment: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    limits: GivenLimits = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)
    files: str | None = None
    readable: tuple[str, ...] = ()
    description: str = ""
    digests: dict[str, str] = field(default_factory=dict)


def judge_grader(judge: str, rubric: str, usual: str = DEFAULT_RUBRIC) -> str:
    """The name of a judge's grade: ``judge-strict``.

    With another rubric than the run's usual one, that is in the name, and no policy can mean it:
    ``judge-strict@repair.v1``.
    """
    if rubric == usual:
        return f"{JUDGE_PREFIX}{judge}"
    return f"{JUDGE_PREFIX}{judge}@{rubric.replace('@', '.v')}"
