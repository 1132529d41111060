"""One configuration at two revisions of its instruction files: what a pull request changes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from trialbook.errors import UserError
from trialbook.model.instructions import WORK_TREE
from trialbook.model.plan import PlannedConfiguration
from trialbook.model.suite import Configuration, Suite

BASE, HEAD = "base", "head"
"""The names of the two configurations that are made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Revisions:
    """The revisions to compare, and the suite's configuration to make both from."""

    base: str
    head: str
    template: str | None = None


def at_revisions(wanted: Revisions, suite: Suite) -> tuple[Configuration, Configuration]:
    """The configuration twice, each with the instruction files of one revision.

    Raises:
        UserError: the suite has none that takes its instructions from a revision, or several.
    """
    able = [one for one in suite.configurations if one.instructions_from is not None]
    if wanted.template is not None:
        able = [one for one in able if one.name == wanted.template]
    if not able:
        raise UserError(
            f"no such configuration of {suite.name} takes its instructions from a revision",
            hint="write `instructions: {from: {revision: main, paths: [AGENTS.md]}}` in one",
        )
    if len(able) > 1:
        names = ", ".join(one.name for one in able)
        raise UserError(
            f"which configuration? {names} take their instructions from a revision",
            hint="name one with --candidate",
        )
    return _at(able[0], BASE, wanted.base), _at(able[0], HEAD, wanted.head)


def _at(template: Configuration, name: str, revision: str) -> Configuration:
    source = template.instructions_from
    return replace(
        template,
        name=name,
        template=template.name,
        instructions_from=source and replace(source, revision=revision),
    )


def as_planned(
    configuration: Configuration, name: str, planned: PlannedConfiguration
) -> Configuration:
    """The suite's configuration as a plan has it: under its name, at the commit that was taken."""
    source = configuration.instructions_from
    if planned.taken is not None and source is not None:
        source = replace(source, revision=planned.taken.commit or WORK_TREE)
    return replace(configuration, name=name, template=planned.template, instructions_from=source)
