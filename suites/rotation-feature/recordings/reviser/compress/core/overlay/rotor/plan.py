"""What has to be done for a log, worked out before any of it is done."""

from rotor.actions import Action, Compress, Create, Move, Remove
from rotor.config import Rule
from rotor.names import generations, path_of


def due(rule: Rule, *, force: bool = False) -> bool:
    """Whether the log is to be set aside."""
    if not rule.path.is_file():
        return False
    size = rule.path.stat().st_size
    return size > 0 if force else size >= rule.size


def plan(rule: Rule) -> list[Action]:
    """The actions that set a log aside, in their order."""
    actions: list[Action] = []
    stay = []
    for generation in generations(rule.path):
        if len(stay) < rule.keep - 1:
            stay.append(generation)
        else:
            actions.append(Remove(generation.path))
    for number, generation in reversed(list(enumerate(stay, start=2))):
        target = path_of(rule.path, number, compressed=generation.compressed)
        actions.append(Move(generation.path, target))
    actions.append(Move(rule.path, path_of(rule.path, 1)))
    actions.append(Create(rule.path))
    actions.append(Compress(path_of(rule.path, 1), path_of(rule.path, 1, compressed=True)))
    return actions
