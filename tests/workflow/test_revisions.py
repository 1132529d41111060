from __future__ import annotations

from dataclasses import replace

import pytest
from tests.recorded import a_configuration

from trialbook.errors import UserError
from trialbook.model.instructions import InstructionsFrom
from trialbook.model.plan import TakenInstructions
from trialbook.model.suite import Configuration, Suite
from trialbook.workflow.revisions import Revisions, as_planned, at_revisions

FROM = InstructionsFrom(revision="main", paths=("AGENTS.md",))
CURRENT = Configuration(name="current", agent="command", instructions_from=FROM)
PLAIN = Configuration(name="plain", agent="command")


def a_suite(*configurations: Configuration) -> Suite:
    return Suite(
        name="rules",
        folder="suites/rules",
        protocol=1,
        decision="?",
        accept="checks",
        tasks=(),
        configurations=configurations,
    )


def test_one_configuration_is_made_into_two_that_differ_in_the_revision_only() -> None:
    base, head = at_revisions(Revisions(base="main", head="."), a_suite(CURRENT, PLAIN))
    assert (base.name, base.template) == ("base", "current")
    assert (head.name, head.template) == ("head", "current")
    assert base.instructions_from == FROM
    assert head.instructions_from == replace(FROM, revision=".")


def test_which_one_is_asked_for_where_several_could_be_meant() -> None:
    other = replace(CURRENT, name="other")
    with pytest.raises(UserError, match="current, other take their instructions from a revision"):
        at_revisions(Revisions(base="a", head="b"), a_suite(CURRENT, other))
    base, _ = at_revisions(Revisions(base="a", head="b", template="other"), a_suite(CURRENT, other))
    assert base.template == "other"
    with pytest.raises(UserError, match="no such configuration"):
        at_revisions(Revisions(base="a", head="b"), a_suite(PLAIN))


def test_a_run_goes_on_with_the_commit_that_was_planned_wherever_the_branch_is_now() -> None:
    taken = TakenInstructions(
        repository="..", revision="main", commit="a" * 40, paths=("AGENTS.md",), files={}
    )
    planned = a_configuration(taken=taken, template="current")
    found = as_planned(CURRENT, "head", planned)
    assert (found.name, found.template) == ("head", "current")
    assert found.instructions_from == replace(FROM, revision="a" * 40)
    from_work_tree = a_configuration(taken=replace(taken, commit=None))
    assert as_planned(CURRENT, "head", from_work_tree).instructions_from == replace(
        FROM, revision="."
    )
