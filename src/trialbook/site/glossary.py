"""The field's words and what they mean: the one source of the glossary and of the docs' page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from trialbook.api import Page
from trialbook.reporting.wording import LETTERS
from trialbook.site.addresses import GLOSSARY, word_anchor
from trialbook.site.figures import outcome_figure

FAILED_OR_ERRORED = (
    "Failed is about the agent's work. Errored is about us or the world. They never share a number."
)


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the field: what it means, and words to read beside it."""

    term: str
    means: str
    see: tuple[str, ...] = ()


_MEASURED = (
    Word(
        "suite",
        "a folder of tasks with one purpose, and one decision that its results should answer",
        ("protocol", "task"),
    ),
    Word("decision", "the question of a suite, in one sentence; its results should answer it"),
    Word(
        "protocol",
        "the number of a suite's frozen rules; results compare only inside one number",
        ("lock",),
    ),
    Word(
        "lock",
        "the digests of everything frozen under one protocol number, and how its graders were "
        "tried before",
        ("near miss", "variant"),
    ),
    Word("draft", "a run of a suite that was not locked; it compares with no other"),
    Word(
        "task",
        "a fixed problem and its acceptance contract: snapshot, brief, graders, limits",
        ("brief", "snapshot"),
    ),
    Word("brief", "the text that the agent gets; it names every requirement that is graded"),
    Word("snapshot", "the exact files that a task starts from, named by their digest"),
    Word("split", "whether a task is for development, or held out from it"),
    Word("held-out", "of a task: opened only to answer the decision, and each opening is recorded"),
    Word("contamination", "what is known of whether models may have seen a task before"),
    Word("reference", "a right answer to a task, which no agent gets"),
    Word("near miss", "a plausible wrong answer that the graders have to reject"),
    Word(
        "variant", "a right answer, unlike the reference in form, that the graders have to accept"
    ),
    Word(
        "configuration",
        "the whole workflow under evaluation: agent, version, model, instructions, tools, limits, "
        "network",
    ),
)
_RUNNING = (
    Word("run", "one execution of one plan", ("plan",)),
    Word(
        "plan",
        "what was fixed before the first trial: the schedule and its seed, digests of everything, "
        "limits, policies",
    ),
    Word("slot", "one cell of a plan: task, configuration, repetition", ("trial",)),
    Word(
        "trial",
        "one fresh execution of a configuration on a task; a replacement is a further trial of "
        "the same slot",
        ("slot", "repetition", "attempt"),
    ),
    Word("repetition", "another trial of the same task and configuration, planned as such"),
    Word("attempt", "a permitted stage inside a trial; everything is charged to the trial"),
    Word("session", "one sitting of a task; an ordinary task has one"),
    Word(
        "workspace",
        "the folder the agent works in: the snapshot and the instructions as one baseline commit, "
        "nothing else",
    ),
    Word("artifact", "a file kept from a trial: change, logs, trajectory, usage"),
    Word("trajectory", "the ordered record of what the agent did"),
)
_JUDGED = (
    Word("check", "one yes-or-no question with evidence"),
    Word("grader", "code or a person that judges artifacts"),
    Word(
        "rubric",
        "versioned questions that need judgement; each says what makes the answer no, and what "
        "shows it",
    ),
    Word("outcome", "how a trial ended, from a closed list"),
    Word("accepted", "of a trial: its graders answered as the suite's policy asks"),
    Word("rejected", "of a trial: the agent finished, and its work does not pass"),
    Word(
        "sighting",
        "something seen of a broken rule, with kind, place and severity: a violation, or a flag "
        "for a reviewer",
    ),
    Word(
        "verdict",
        "MERGE, FIX or REJECT from a rubric; better, worse, equivalent or inconclusive from a "
        "comparison",
    ),
    Word("judge", "a program that answers a rubric about a diff; it is no part of the agent"),
    Word("trust level", "what comparing a judge with people allows its verdicts to be used for"),
    Word("calibration", "the comparison of a judge's answers with those of people"),
    Word(
        "packet",
        "what a reviewer gets to judge, under a name that does not say whose it is: brief, "
        "change, allowed checks, rubric",
    ),
    Word(
        "control",
        "a packet with an answer of known worth, a reference or a near miss, among those of trials",
    ),
    Word(
        "review",
        "one person's answers to a rubric about one packet, given alone; it is never changed",
    ),
    Word(
        "reconciliation",
        "what reviewers made of an item on which they had differed, and who moved",
    ),
)
_COUNTED = (
    Word(
        "all scheduled",
        "the count that takes each slot of the plan by its first trial, slots that never ran "
        "included",
        ("valid executions",),
    ),
    Word(
        "valid executions",
        "the count that takes each slot by its last trial, and leaves out those that a failure of "
        "ours or of a service ended, or that wait for a person",
        ("all scheduled",),
    ),
    Word("moved", "of a task: its results differ between two sides of a comparison"),
    Word("margin", "the difference that a suite declares small enough to bear, and why"),
    Word(
        "comparison",
        "two sides of one protocol, paired by task, with the uncertainty of their difference",
        ("verdict", "margin"),
    ),
    Word("gate", "a rule fixed beforehand that lets a change pass, or not, by comparing two sides"),
    Word("false alarm", "a gate that failed although nothing was wrong, as people found later"),
    Word("pass^k", "how likely it is that all of k trials of a task are accepted"),
)
_KEPT = (
    Word(
        "ledger",
        "every result ever recorded, as files in git: the folder of runs, and its history",
    ),
    Word("amendment", "a person's later correction of one trial: a file more; the record stays"),
    Word(
        "incident",
        "something that went wrong around trials, which it touched, and what was decided",
    ),
    Word("generation", "grades or results made again later; the newest counts, all stay"),
)

GROUPS: tuple[tuple[str, tuple[Word, ...]], ...] = (
    ("What is measured", _MEASURED),
    ("How it runs", _RUNNING),
    ("How it is judged", _JUDGED),
    ("How it is counted", _COUNTED),
    ("What is kept", _KEPT),
)


def glossary_page() -> Page:
    """The page of all words, and of all outcomes."""
    sections = [[word_anchor(title), title] for title, _ in GROUPS]
    context = {
        "sections": [*sections, ["outcomes", "Outcomes"]],
        "groups": [
            {
                "title": title,
                "id": word_anchor(title),
                "words": [
                    {
                        "term": word.term,
                        "anchor": word_anchor(word.term),
                        "means": word.means,
                        "see": list(word.see),
                    }
                    for word in words
                ],
            }
            for title, words in GROUPS
        ],
        "outcomes": [outcome_figure(outcome) for outcome in LETTERS],
        "failed_or_errored": FAILED_OR_ERRORED,
    }
    return Page(path=GLOSSARY, template="glossary.html", title="Glossary", context=context)


def words_document() -> str:
    """The glossary as a page of the docs, in Markdown."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield "---\ntitle: Words\norder: 50\n---\n"
    for title, words in GROUPS:
        yield f"## {title}\n\n| word | means |\n| --- | --- |"
        yield from (f"| {word.term} | {word.means} |" for word in words)
        yield ""
    yield "The closed list of outcomes is [a page of its own](outcomes.md).\n"
    yield FAILED_OR_ERRORED
