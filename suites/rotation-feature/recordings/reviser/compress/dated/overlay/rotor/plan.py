"""What has to be done for a log, worked out before any of it is done."""

from datetime import datetime

from rotor.actions import Action, Compress, Create, Move, Remove
from rotor.config import Rule
from rotor.errors import RotorError
from rotor.names import generations, path_of


def due(rule: Rule, *, force: bool = False) -> bool:
    """Whether the log is to be set aside."""
    if not rule.path.is_file():
        return False
    size = rule.path.stat().st_size
    return size > 0 if force else size >= rule.size


def plan(rule: Rule, now: datetime) -> list[Action]:
    """The actions that set a log aside, in their order. What was set aside before keeps its name."""
    plain, compressed = (path_of(rule.path, now, compressed=which) for which in (False, True))
    for path in (plain, compressed):
        if path.exists():
            raise RotorError("the name is taken", path.name)
    actions: list[Action] = [
        Remove(generation.path) for generation in generations(rule.path)[rule.keep - 1 :]
    ]
    actions += [Move(rule.path, plain), Create(rule.path)]
    if rule.compress:
        actions.append(Compress(plain, compressed, rule.level))
    return actions
