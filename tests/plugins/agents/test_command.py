"""Any executable as an agent."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft202012Validator

from trialbook.api import (
    AgentEnd,
    Assignment,
    Ended,
    EnvironmentProblem,
    Limits,
    ProcessResult,
    parse_document,
)
from trialbook.formats.schema import check_schema
from trialbook_agents.command import PLACEHOLDERS, CommandAgent, fill, judge

if TYPE_CHECKING:
    from tests.plugins.agents.conftest import Assign


def output(assignment: Assignment) -> str:
    return (assignment.output / "stdout.txt").read_text(encoding="utf-8")


def problems(text: str) -> list[str]:
    document, broken = parse_document(text, "current.yaml")
    assert document is not None
    assert not broken
    return [str(problem) for problem in check_schema(document, CommandAgent.parameters)]


def test_the_command_works_in_the_workspace_with_the_prompt_on_standard_input(
    assign: Assign,
) -> None:
    argv = ["/bin/sh", "-c", "cat > answer; pwd -P"]
    assignment = assign("Fix the größe.\n", parameters={"argv": argv})
    result = CommandAgent().run(assignment)
    assert result.end is AgentEnd.FINISHED
    assert result.message.startswith("the command exited with status 0 after 0.")
    assert result.process is not None
    assert result.process.ok
    assert (assignment.workspace / "answer").read_text() == "Fix the größe.\n"
    assert output(assignment).strip() == str(assignment.workspace.resolve())


def test_the_prompt_may_come_as_an_argument_and_is_not_looked_into(assign: Assign) -> None:
    prompt = "Use {workspace} and {{this}} and {nonsense}\nplease"
    parameters = {"argv": ["printf", "%s|%s", "{prompt}", "{{x}}"], "prompt": "argument"}
    assignment = assign(prompt, parameters=parameters)
    assert CommandAgent().run(assignment).end is AgentEnd.FINISHED
    assert output(assignment) == f"{prompt}|{{x}}"


def test_standard_input_is_empty_unless_it_is_the_prompt(assign: Assign) -> None:
    for way, argument in (("file", "{prompt_file}"), ("argument", "{prompt}")):
        argv = ["/bin/sh", "-c", 'cat; echo "$#"', "sh", argument]
        assignment = assign(parameters={"argv": argv, "prompt": way})
        CommandAgent().run(assignment)
        assert output(assignment) == "1\n"


@pytest.mark.parametrize("way", ["stdin", "file"])
def test_a_prompt_of_five_megabytes_arrives_whole(assign: Assign, way: str) -> None:
    prompt = "größe\n" * 700_000
    script = 'cat "$1" | sha256sum; cat "$2" | sha256sum'
    source = "/dev/stdin" if way == "stdin" else "{prompt_file}"
    argv = ["/bin/sh", "-c", script, "sh", source, "{prompt_file}"]
    assignment = assign(prompt, parameters={"argv": argv, "prompt": way})
    assert assignment.prompt_file.stat().st_size > 5_000_000
    assert CommandAgent().run(assignment).end is AgentEnd.FINISHED
    one, other = output(assignment).splitlines()
    assert one == other


def test_a_prompt_too_long_for_an_argument_is_our_problem_and_says_what_to_do(
    assign: Assign,
) -> None:
    parameters = {"argv": ["true", "{prompt}"], "prompt": "argument"}
    result = CommandAgent().run(assign("x" * 200_000, parameters=parameters))
    assert result.end is AgentEnd.ENVIRONMENT
    assert "pass the prompt by file or on standard input" in result.message


def test_every_placeholder_has_its_value(assign: Assign) -> None:
    argv = ["printf", "%s\n", *(f"<{{{name}}}>" for name in PLACEHOLDERS)]
    files = Path("/some/files")
    assignment = assign("the prompt", model="m-1", files=files, parameters={"argv": argv})
    CommandAgent().run(assignment)
    assert output(assignment).splitlines() == [
        f"<{value}>"
        for value in (
            assignment.workspace,
            assignment.prompt_file,
            "the prompt",
            files,
            assignment.home,
            "negative-amount",
            2,
            "m-1",
            sys.executable,
        )
    ]


@pytest.mark.parametrize("name", ["files", "model"])
def test_a_placeholder_without_a_value_is_the_configurations_mistake(
    assign: Assign, name: str
) -> None:
    result = CommandAgent().run(assign(parameters={"argv": ["echo", f"{{{name}}}"]}))
    assert result.end is AgentEnd.ENVIRONMENT
    assert result.message == f"argv uses {{{name}}}, but the configuration sets no `{name}`"


@pytest.mark.parametrize("wrong", ["{nope}", "{", "}", "a}b", "{workspace", "{prompt!r}", "{}"])
def test_what_is_no_placeholder_is_refused_before_anything_runs(assign: Assign, wrong: str) -> None:
    with pytest.raises(EnvironmentProblem, match="is no placeholder"):
        fill([wrong], {"workspace": "w"})
    result = CommandAgent().run(assign(parameters={"argv": ["echo", wrong]}))
    assert result.end is AgentEnd.ENVIRONMENT
    assert problems(f"argv: [echo, '{wrong}']") != []


def test_braces_are_written_double() -> None:
    assert fill(["{{}}", "a{{b}}c", "{{{workspace}}}"], {"workspace": "w"}) == [
        "{}",
        "a{b}c",
        "{w}",
    ]
    assert problems("argv: ['{{}}', 'a{{b}}c', '{{{workspace}}}']") == []


def test_exit_statuses_that_mean_success_can_be_chosen(assign: Assign) -> None:
    agent = CommandAgent()
    argv = ["/bin/sh", "-c", "exit 3"]
    ends = [
        agent.run(assign(parameters={"argv": argv, "success_codes": codes})).end
        for codes in ([0], [0, 3], [3], [1])
    ]
    assert ends == [AgentEnd.ERROR, AgentEnd.FINISHED, AgentEnd.FINISHED, AgentEnd.ERROR]


def test_silence_with_status_zero_is_an_end_like_any_other(assign: Assign) -> None:
    result = CommandAgent().run(assign(parameters={"argv": ["true"]}))
    assert result.end is AgentEnd.FINISHED


def test_a_crash_is_the_agents_error_with_its_evidence(assign: Assign) -> None:
    argv = ["/bin/sh", "-c", "setsid sleep 60 & kill -SEGV $$"]
    result = CommandAgent().run(assign(parameters={"argv": argv}))
    assert result.end is AgentEnd.ERROR
    assert result.message.startswith("the command was ended by SIGSEGV after 0.")
    assert result.message.endswith("; 1 of its processes had to be killed")
    assert result.process is not None
    assert result.process.signal == 11


def test_a_time_limit_is_a_time_limit(assign: Assign) -> None:
    limits = Limits(minutes=0.3 / 60, grace_seconds=0.1)
    assignment = assign(parameters={"argv": ["sleep", "60"]}, limits=limits)
    result = CommandAgent().run(assignment)
    assert result.end is AgentEnd.TIMED_OUT
    assert result.message.startswith("the command was stopped after 0.")


def test_a_missing_executable_is_our_problem(assign: Assign) -> None:
    result = CommandAgent().run(assign(parameters={"argv": ["no-such-agent"]}))
    assert result.end is AgentEnd.ENVIRONMENT
    assert result.message == (
        "the command could not be started: the program no-such-agent is not found on the PATH"
    )


@pytest.mark.parametrize("ended", list(Ended))
def test_every_way_to_end_has_its_meaning(ended: Ended) -> None:
    wanted = {
        Ended.EXITED: AgentEnd.ERROR,
        Ended.SIGNALLED: AgentEnd.ERROR,
        Ended.TIMED_OUT: AgentEnd.TIMED_OUT,
        Ended.CANCELLED: AgentEnd.CANCELLED,
        Ended.STOPPED: AgentEnd.BUDGET,
        Ended.NOT_STARTED: AgentEnd.ENVIRONMENT,
        Ended.LOST: AgentEnd.ERROR,
    }
    # A status that means success counts only for a process that exited by itself.
    process = ProcessResult(ended=ended, exit_code=0)
    assert judge(process, [1]).end is wanted[ended]
    if ended is not Ended.EXITED:
        assert judge(process, [0]).end is wanted[ended]
    unknown = dataclasses.replace(process, exit_code=None, signal=99)
    assert "None" not in judge(dataclasses.replace(unknown, ended=Ended.SIGNALLED), [0]).message


def test_the_parameters_are_a_schema_that_says_every_mistake_in_plain_words() -> None:
    Draft202012Validator.check_schema(CommandAgent.parameters)
    assert problems("argv: [agent, '{workspace}']\nprompt: stdin\nsuccess_codes: [0, 2]") == []
    assert problems("argv: [agent, '-p={prompt}']\nprompt: argument") == []
    assert problems("argv: ['{prompt_file}']\nprompt: file") == []
    for text, said in (
        ("{}", "argv"),
        ("argv: []", "`argv` is empty"),
        ("argv: agent", "`argv` must be a list"),
        ("argv: ['']", "item 1 of `argv` is empty"),
        ("argv: [a]\nprompt: pipe", "must be stdin, file or argument"),
        ("argv: [a]\nprompt: argument", "`argv` has no {prompt};"),
        ("argv: [a, '{{prompt}}']\nprompt: argument", "`argv` has no {prompt};"),
        ("argv: [a]\nprompt: file", "`argv` has no {prompt_file};"),
        ("argv: [a]\nsucces_codes: [0]", "did you mean `success_codes`?"),
        ("argv: [a]\nsuccess_codes: [256]", "255"),
        ("argv: [a, '{worksapce}']", "has a placeholder that is not known"),
    ):
        assert any(said in problem for problem in problems(text)), text
