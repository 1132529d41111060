"""What is wrong with how a question of a rubric is asked: taste, and what nothing could answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault, in the text under ``key``, ``offset`` characters in."""

    key: str
    message: str
    hint: str
    offset: int = 0


_ASKED = ("text", "no_when", "applies_to")
_QUOTED = re.compile(r"`[^`]*`|\"[^\"]*\"|“[^”]*”")

_TASTE = re.compile(
    r"""\b(?:
    I(?:\ would|'d)?\ (?:rather|prefer|like|dislike|love|hate|want|enjoy)
    | (?:do|would)\ you\ (?:personally\ )?(?:prefer|like|enjoy)
    | (?:in|to)\ (?:my|your)\ (?:opinion|view|taste|eyes|mind|liking)
    | (?:my|your)\ (?:taste|preferences?|opinion) | personal\ (?:taste|opinion)
    | personally(?!\ identif)
    | nice(?:ly|r|st)? | elegan(?:t|tly|ce) | beautiful(?:ly)? | ugly | neat(?:ly)?
    | pleas(?:ant|ing)
    | feels? | (?:more\ |less\ )?pythonic
    | looks?\ (?:good|bad|right|wrong|fine|nice|odd|strange|ok|okay)
    | (?:clean|good|bad|great|poor|beautiful)\ (?:code|style|quality|design|taste)
    | cleaner(?=\ than|\ code|\ solution|\ design|\ way|\W*$)
    | high[- ]quality | low[- ]quality | well[- ]written
    )\b""",
    re.VERBOSE | re.IGNORECASE,
)
_WHO = r"(?:author|agent|developer|engineer|programmer|writer|coder|model|contributor|they|he|she)"
_MIND = (
    r"(?:thought|thinks?|thinking|intend(?:s|ed)?|meant?|wants?|wanted|believed?s?|knew|knows?"
    r"|realised?|realized?|cared?s?|felt|hoped?s?|understood|understands?|had\ in\ mind)"
)
_OTHERS_MIND = re.compile(
    rf"""\b(?:
    {_WHO}\ (?:(?:really|actually|fully|truly|clearly)\ )?{_MIND}
    | {_WHO}(?:['\u2019]s|s['\u2019])\ (?:intent|intentions?|thoughts?|thinking
        |mind|beliefs?|motives?)
    | (?:intentions?|intent|thoughts?|motives?)\ of\ the\ {_WHO}
    )\b""",
    re.VERBOSE | re.IGNORECASE,
)
_AUXILIARY = r"(?:is|are|was|were|does|do|did|has|have|had|can|could|would|should|will)"
_SUBJECT = r"(?:it|its|the|they|their|there|this|that|these|those|each|every|all|any|no|an?|you|we)"
_SECOND = re.compile(rf",?\s+(?:and|or)\s+{_AUXILIARY}\s+{_SUBJECT}\b", re.IGNORECASE)
_OPEN = re.compile(
    rf"\s*(?:(?:what|which|who|whose|why|how)\b|(?:when|where)\s+{_AUXILIARY}\b)", re.IGNORECASE
)
_NOTHING_SAID = re.compile(
    r"\W*(?:otherwise|else|if not|not|no|never|n/?a|none|tbd|todo|it is not|it does not"
    r"|(?:if |when )?(?:the answer|it) is (?:no|not yes|negative|not the case|not so)"
    r"|(?:if |when )?(?:this|that) is (?:not (?:so|true|the case)|false))?\W*",
    re.IGNORECASE,
)


def question_faults(texts: Mapping[str, str]) -> list[Fault]:
    """Everything that is wrong with a question's wording.

    Args:
        texts: The question's values by key, as far as they are text: ``text``, ``no_when``,
            ``applies_to``, .... What stands in backticks or quotes is the code's, not the
            question's, and is passed over.
    """
    asked = {key: _unquoted(texts[key]) for key in _ASKED if texts.get(key, "").strip()}
    faults: list[Fault] = []
    for key, text in asked.items():
        faults += _matches(key, text, _TASTE, _said_taste)
        faults += _matches(key, text, _OTHERS_MIND, _said_mind)
    if "text" in asked:
        faults += _form(asked["text"])
    if "no_when" in asked:
        faults += _no_when(texts.get("text", ""), texts["no_when"])
    return faults


def _unquoted(text: str) -> str:
    masked = _QUOTED.sub(lambda match: "`" + "x" * (len(match[0]) - 2) + "`", text)
    return masked.replace("\n", " ")


def _matches(
    key: str, text: str, pattern: re.Pattern[str], said: Callable[[str], tuple[str, str]]
) -> Iterator[Fault]:
    for match in pattern.finditer(text):
        message, hint = said(" ".join(match[0].split()))
        yield Fault(key=key, message=message, hint=hint, offset=match.start())


def _said_taste(words: str) -> tuple[str, str]:
    return (
        f"`{words}` asks for taste: two careful people would answer by what they like",
        "name what can be seen in the evidence, such as a second copy of some logic",
    )


def _said_mind(words: str) -> tuple[str, str]:
    return (
        f"`{words}` asks what went on in somebody's head, which no evidence shows",
        "ask for what was done or written: the change, a message, a note, a step",
    )


def _form(text: str) -> Iterator[Fault]:
    marks = text.count("?")
    if not marks:
        yield Fault(
            key="text",
            message="this is not a question",
            hint="ask something that yes or no answers, and end it with `?`",
        )
    if _OPEN.match(text):
        yield Fault(
            key="text",
            message=f"a question that begins with `{text.split(maxsplit=1)[0]}` has no yes or no",
            hint="ask whether something is so: `Is ...?`, `Does ...?`",
        )
    second = _second_question(text, marks)
    if second is not None:
        yield Fault(
            key="text",
            message="these are two questions in one, and an answer would not say to which",
            hint="make two questions of it, each with its own no_when",
            offset=second,
        )


def _second_question(text: str, marks: int) -> int | None:
    """Where a second question begins; None if there is only one."""
    either = text.lower().find("and/or")
    if either >= 0:
        return either
    if marks > 1:
        rest = text.index("?") + 1
        return rest + len(text[rest:]) - len(text[rest:].lstrip(" ?"))
    joined = _SECOND.search(text)
    return joined.start() + len(joined[0]) - len(joined[0].lstrip(" ,")) if joined else None


def _no_when(text: str, no_when: str) -> Iterator[Fault]:
    if _NOTHING_SAID.fullmatch(no_when) or _folded(no_when) == _folded(text):
        yield Fault(
            key="no_when",
            message="this does not say what makes the answer no",
            hint="name what has to be seen, such as `a test was removed and no reason is given`",
        )


def _folded(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))
