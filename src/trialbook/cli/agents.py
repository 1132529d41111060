"""``trialbook agents``: which agents can be run here, and a first try of one."""

from __future__ import annotations

from collections.abc import Iterator

import click

from trialbook.cli.context import Context, pass_context
from trialbook.cli.terminal import Column, Part, Text, facts, heading, lines, render, safe, table
from trialbook.errors import ExitCode, UserError
from trialbook.formats.records import plain
from trialbook.model.agents_here import AgentHere, TrialRun
from trialbook.model.prices import PriceTable
from trialbook.registry import Registry
from trialbook.workflow.agents import Try, agents_here, try_agent
from trialbook.workflow.prices import newest_prices

AGENTS, TRY = "trialbook/agents/1", "trialbook/agent_try/1"
_GOOD, _BAD, _QUIET = "bold green", "bold red", "dim"


@click.group("agents", invoke_without_command=True, epilog="Example: trialbook agents --json")
@click.option("--json", "as_json", is_flag=True, help=f"Print JSON (schema {AGENTS}).")
@pass_context
@click.pass_context
def command(click_context: click.Context, context: Context, *, as_json: bool) -> None:
    """List the agents that can be run here: clients, versions, and the limits that are kept.

    Works outside of a ledger too. `trialbook agents try` lets one of them answer once.
    """
    if click_context.invoked_subcommand is not None:
        return
    found = agents_here(Registry())
    if as_json:
        listed = [{**plain(one), "usable": one.usable} for one in found]
        context.json({"schema": AGENTS, "agents": listed})
    else:
        context.result(render(_listing(found), colour=context.colour))


def _listing(found: tuple[AgentHere, ...]) -> Iterator[Part]:
    heads = ("agent", "client", "keeps", "approval", "reasoning", "program")
    columns = [Column(head=head, whole=head in heads[:3]) for head in heads]
    yield table(columns, [_row(one) for one in found])
    missing = [one for one in found if not one.usable]
    if missing:
        yield Text()
        yield heading("to use the others")
        yield from lines([(one.name, f"{one.reason}; {one.hint}") for one in missing])
    yield Text()
    yield Text("keeps: limits that a trial is held to; (usd) only where prices/ has the model")


def _row(one: AgentHere) -> list[str | Text]:
    more = [f"({name})" for name in one.limits_with_price if name not in one.limits]
    if not one.needs_client:
        client = Text("none needed" if one.usable else "BROKEN", _QUIET if one.usable else _BAD)
    else:
        client = Text(one.version, _GOOD) if one.version else Text("not here", _BAD)
    return [
        one.name,
        client,
        " ".join([*one.limits, *more]),
        " ".join(one.approval),
        " ".join(one.reasoning),
        safe(one.program or ""),
    ]


@command.command(
    "try",
    epilog="Example: trialbook agents try codex --model gpt-5.5 --endpoint "
    "http://127.0.0.1:8080/v1 --secret OPENAI_API_KEY",
)
@click.argument("name", metavar="NAME")
@click.option("--model", required=True, metavar="M", help="The model, as in a configuration.")
@click.option(
    "--endpoint",
    metavar="URL",
    help="Where it is asked (`base_url`); by default at the provider's own address.",
)
@click.option("--program", metavar="PATH", help="The client, if it is not on the PATH.")
@click.option(
    "--secret",
    "secrets",
    multiple=True,
    metavar="VARIABLE",
    help="An environment variable that the client gets, such as its key; repeatable.",
)
@click.option("--sandbox", default="none", show_default=True, help="The sandbox to try it in.")
@click.option("--json", "as_json", is_flag=True, help=f"Print JSON (schema {TRY}).")
@pass_context
def try_(  # noqa: PLR0913 - click hands every option over by name
    context: Context,
    *,
    name: str,
    model: str,
    endpoint: str | None,
    program: str | None,
    secrets: tuple[str, ...],
    sandbox: str,
    as_json: bool,
) -> int:
    """Let an agent answer once in an empty folder, and say how that ended and what it used.

    Nothing is recorded. Exits with 0 if the model answered, and with 1 if not.
    """
    wanted = Try(
        agent=name,
        model=model,
        endpoint=endpoint,
        program=program,
        secrets=secrets,
        sandbox=sandbox,
    )
    done = try_agent(wanted, Registry(), context.system, _prices(context))
    if as_json:
        context.json(plain(done))
    else:
        context.result(render(_outcome(done), colour=context.colour))
    return ExitCode.DONE if done.answered else ExitCode.NO


def _prices(context: Context) -> PriceTable | None:
    try:
        root = context.root()
    except UserError:
        return None
    return newest_prices(root, context.system.now().date())


def _outcome(done: TrialRun) -> Iterator[Part]:
    yield Text("the model answered", _GOOD) if done.answered else Text("no answer", _BAD)
    yield facts(_facts(done))


def _facts(done: TrialRun) -> Iterator[tuple[str, str | Text]]:
    usage = done.usage
    yield "agent", f"{done.agent} {done.version or '(version unknown)'}"
    yield "model", safe(done.model + (f" at {done.endpoint}" if done.endpoint else ""))
    yield "sandbox", done.sandbox
    yield "ended", safe(f"{done.end}: {done.message}")
    if done.trouble is not None:
        yield "trouble", done.trouble.value
    yield "took", f"{done.seconds:.1f} s"
    read = [usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens]
    told = [str(count) if count is not None else "unknown" for count in read]
    yield "tokens read", f"{told[0]} ({told[1]} from the cache, {told[2]} into it)"
    written = "unknown" if usage.output_tokens is None else str(usage.output_tokens)
    yield "tokens written", written
    calls = "unknown" if usage.model_calls is None else str(usage.model_calls)
    yield "model calls", calls
    cost = "unknown" if usage.cost_usd is None else f"{usage.cost_usd} US dollars, {usage.basis}"
    yield "cost", cost
