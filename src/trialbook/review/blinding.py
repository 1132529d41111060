"""Takes out of a change what would tell a reviewer who made it, and says what was taken out.

Only what an agent wrote is looked at: added lines, the names of files, what graders say of them.
What a task itself holds is the same for every configuration, and a name that is one of its words
would tell nothing; it stays.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from trialbook.formats.diff import FileDiff, Line
from trialbook.model.grade import Check
from trialbook.model.plan import Plan
from trialbook.model.trial import Trial

GONE = "[taken out]"
"""What stands in the place of what was taken out."""

CONFIGURATION = "name of a configuration"
MODEL = "name of a model"
AGENT = "name of an agent or its maker"
PLACE = "path of the ledger"
AUTHOR = "name of an author"
TRAILER = "trailer that names who wrote it"
INSTRUCTIONS = "file that a configuration brings along"

_MAKERS = (
    *("Claude", "Anthropic", "Codex", "OpenAI", "ChatGPT", "GPT", "Gemini", "Copilot"),
    *("Aider", "opencode", "mini-swe-agent", "SWE-agent", "OpenHands", "Windsurf", "Devin", "Qwen"),
    *("DeepSeek", "Mistral", "Llama", "Grok", "Kimi"),
)
_TRAILER = re.compile(
    r"""(?:
    \b(?:co-authored-by|signed-off-by|assisted-by|generated-by|authored-by|committed-by
        |reviewed-by|on-behalf-of|made-with|change-id|claude-session)\s*:
    | ^\W*(?:generated|authored|created|written)\ (?:with|by|using)\b
    | \bgenerated\ (?:with|by|using)\ \W*(?:an?\ )?(?:ai|llm|language\ model|chatbot)\b
    | \U0001f916
    | @author\b | __author__\s*=
    | ^\s*(?:\#|//|/?\*+|--|;+|<!--)\s*authors?\s*:
    ).*""",
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
_SHORTEST_PART = 3
_PARTS = re.compile(r"[-_ ]+")
_BETWEEN = "[-_ ]?"
# Where a word begins and ends, also inside a name such as `useClaude`, `ClaudeHelper` and `gpt4o`.
_BEGINS = r"(?:(?<![^\W_])|(?-i:(?<=[a-z0-9])(?=[A-Z])))"
_ENDS = r"(?:(?![^\W_])|(?-i:(?<=[A-Za-z])(?=[0-9])|(?<=[a-z])(?=[A-Z])|(?=[A-Z][a-z])))"
# Agents that are ways to run something: their names are words of any code, and tell nothing.
_NO_NAMES = frozenset({"command", "replay"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """A text that must not be in a packet, and what it is."""

    text: str
    what: str


@dataclass(slots=True)
class Blinding:
    """Takes secrets out of one packet.

    ``words`` is the text of the task as all configurations get it. ``private`` are paths of files
    that only some configurations have: they are taken out whole. ``taken`` counts what was taken
    out; ``kept`` are kinds of names that stayed, because the task uses the word itself.
    """

    secrets: Sequence[Secret]
    words: str
    private: frozenset[str] = frozenset()
    taken: Counter[str] = field(default_factory=Counter)
    kept: set[str] = field(default_factory=set)
    _patterns: list[tuple[re.Pattern[str], str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for secret in sorted(self.secrets, key=lambda one: (-len(one.text), one.text)):
            if secret.what == PLACE:
                self._patterns.append((_pattern(secret.text), secret.what))
                continue
            # A name is also written `cheap_first` and `CheapFirst`; a task may use those as words.
            for pattern in (_pattern(secret.text, _BETWEEN), _pattern(secret.text)):
                if not pattern.search(self.words):
                    self._patterns.append((pattern, secret.what))
                    break
            else:
                self.kept.add(secret.what)

    def text(self, text: str) -> str:
        """A text of an agent, or about what it did, without what tells who it was."""
        text, trailers = _TRAILER.subn(GONE, text)
        self._count(TRAILER, trailers)
        for pattern, what in self._patterns:
            text, times = pattern.subn(GONE, text)
            self._count(what, times)
        return text

    def diff(self, files: Iterable[FileDiff]) -> list[FileDiff]:
        """A patch without it; what was there before the change stays as it was."""
        return [self._file(file) for file in files]

    def checks(self, checks: Iterable[Check]) -> list[Check]:
        """Checks with their answers, and what is said of them."""
        return [
            replace(
                check,
                message=self.text(check.message),
                evidence=tuple(
                    replace(
                        found, text=self.text(found.text), file=found.file and self.text(found.file)
                    )
                    for found in check.evidence
                ),
            )
            for check in checks
        ]

    def said(self) -> list[str]:
        """What was taken out, in words, and what stayed."""
        lines = [f"{what}: {times}" for what, times in sorted(self.taken.items())]
        return lines + [
            f"{what}: one is an ordinary word of this task, and stayed"
            for what in sorted(self.kept)
        ]

    def _count(self, what: str, times: int) -> None:
        if times:
            self.taken[what] += times

    def _file(self, file: FileDiff) -> FileDiff:
        if file.path in self.private or file.old_path in self.private:
            self._count(INSTRUCTIONS, 1)
            return FileDiff(path=GONE, status=file.status)
        path = self.text(file.path)
        old = None if file.old_path is None else self.text(file.old_path)
        notes = [self.text(note) for note in file.notes]
        lines = [self._line(line) for line in file.lines]
        return replace(file, path=path, old_path=old, notes=notes, lines=lines)

    def _line(self, line: Line) -> Line:
        return replace(line, text=self.text(line.text)) if line.kind == "added" else line


def private_paths(plan: Plan) -> frozenset[str]:
    """The files that configurations bring along, by their places in a workspace."""
    found: set[str] = set()
    for planned in plan.configurations.values():
        if planned.taken is not None:
            found |= planned.taken.files.keys()
        middle = f"/instructions/{planned.instructions}/"
        found |= {path.partition(middle)[2] for path in planned.files if middle in path}
    return frozenset(found)


def words_of(brief: str, files: Iterable[FileDiff], private: frozenset[str] = frozenset()) -> str:
    """What a task says in its brief and in those lines of its snapshot that a patch shows."""
    before = (
        line.text
        for file in files
        if file.path not in private and file.old_path not in private
        for line in file.lines
        if line.kind in ("context", "deleted")
    )
    return "\n".join((brief, *before))


def secrets_of(
    plan: Plan, trials: Iterable[Trial], places: Iterable[str], people: str
) -> list[Secret]:
    """Everything that could tell who made a change of a run.

    Args:
        plan: The run's plan.
        trials: The run's trials.
        places: Folders of the ledger and of the program's own.
        people: Names of people who made commits there, one a line.
    """
    found: dict[str, str] = {}
    for name in _MAKERS:
        found[name] = AGENT
    for name, planned in plan.configurations.items():
        for agent in (planned.agent, planned.agent_version, planned.client_version):
            _add(found, agent, AGENT)
        for model in (planned.model, *_models(planned.parameters)):
            _add(found, model, MODEL)
        for configuration in (name, planned.template, planned.instructions):
            _add(found, configuration, CONFIGURATION)
    for trial in trials:
        if trial.agent is not None:
            _add(found, trial.agent.name, AGENT)
            _add(found, trial.agent.reported_version, AGENT)
            _add(found, trial.agent.model, MODEL)
    for place in (*places, plan.path, plan.run):
        _add(found, place, PLACE)
    for person in people.splitlines():
        _add(found, person, AUTHOR)
    return [Secret(text=text, what=what) for text, what in found.items()]


def _models(parameters: Mapping[str, object]) -> list[str]:
    """Models that an agent's own parameters name."""
    return [str(value) for key, value in parameters.items() if "model" in key and value]


def _add(found: dict[str, str], text: str | None, what: str) -> None:
    kept = (text or "").strip()
    if kept and kept not in _NO_NAMES and not kept.replace(".", "").isdigit():
        found[kept] = what


def _pattern(text: str, parts: str | None = None) -> re.Pattern[str]:
    """The text as a word of its own or as a part of a name in code, whatever its letters' case.

    ``parts`` is what may stand between its parts, as a pattern; None leaves them as they are.
    """
    if len(text) < _SHORTEST_PART:
        return re.compile(rf"(?<!\w){re.escape(text)}(?!\w)", re.IGNORECASE)
    inner = re.escape(text) if parts is None else parts.join(map(re.escape, _PARTS.split(text)))
    return re.compile(f"{_BEGINS}{inner}{_ENDS}", re.IGNORECASE)
