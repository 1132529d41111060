"""How results will be compared: what the suite says, and what a person adds beforehand."""

from __future__ import annotations

from dataclasses import dataclass, replace

from trialbook.errors import UserError
from trialbook.model.suite import Comparison, Suite

_SIDES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """What the person declares. ``margin`` is a share, with the sentence that says why.

    ``looks`` are the numbers of whole rounds after which results may be compared early.
    """

    margin: float | None = None
    because: str = ""
    looks: tuple[int, ...] = ()


def declared(suite: Suite, wish: Declaration) -> Comparison | None:
    """The comparison that a plan freezes. A person fills what the suite leaves open, no more.

    Args:
        suite: The suite, with only the configurations and repetitions of the plan.
        wish: What the person adds.

    Raises:
        UserError: the suite has declared it already, or it makes no sense for this plan.
    """
    if bool(wish.because.strip()) != (wish.margin is not None):
        raise UserError(
            "a margin needs the sentence that says why, and the sentence a margin",
            hint='for instance --margin 0.10 --because "a reviewer can absorb one more in ten"',
        )
    if wish == Declaration():
        return suite.compare
    found = suite.compare or _of_two(suite)
    if wish.margin is not None:
        _unless_other(found.margin, wish.margin, "margin", suite)
        found = replace(found, margin=wish.margin, because=found.because or wish.because.strip())
    if wish.looks:
        looks = tuple(sorted(set(wish.looks)))
        _unless_other(found.looks or None, looks, "looks", suite)
        found = replace(found, looks=_before_the_end(looks, suite.repetitions))
    return found


def _of_two(suite: Suite) -> Comparison:
    names = [one.name for one in suite.configurations]
    if len(names) != _SIDES:
        raise UserError(
            f"which two configurations? the suite has no `compare`, and the plan {len(names)}",
            hint="choose two with --configuration; the one that the suite lists first is the "
            "baseline",
        )
    return Comparison(baseline=names[0], candidate=names[1])


def _unless_other(has: object, wanted: object, what: str, suite: Suite) -> None:
    if has is not None and has != wanted:
        raise UserError(
            f"suite.yaml declares {what} {_said(has)} under protocol {suite.protocol}, and a plan "
            f"cannot have {_said(wanted)}",
            hint="leave the option out; or change `compare` in suite.yaml, which for a locked "
            f"suite takes `trialbook suite bump {suite.name}`",
        )


def _said(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _before_the_end(looks: tuple[int, ...], repetitions: int) -> tuple[int, ...]:
    late = [look for look in looks if look >= repetitions]
    if late:
        raise UserError(
            f"a look after {late[0]} rounds is none before the end: there are {repetitions}",
            hint="leave it out; the end is always a look",
        )
    return looks
