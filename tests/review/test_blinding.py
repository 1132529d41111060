from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.recorded import a_configuration, a_grade
from tests.review.desk import RUBRIC, reviewed_plan

from trialbook.model.digest import sha256
from trialbook.model.grade import Severity
from trialbook.model.plan import TakenInstructions
from trialbook.model.rubric import EvidenceKind, Question, Rubric
from trialbook.review.blinding import GONE, Secret, private_paths, secrets_of
from trialbook.review.packet import Hidden, Material, blinded
from trialbook.review.plain_diff import plain_diff
from trialbook.site.packet_page import packet_page

HIDDEN = Hidden(
    secrets=(
        Secret(text="swift", what="name of a configuration"),
        Secret(text="swift-2", what="name of a configuration"),
        Secret(text="Claude", what="name of an agent or its maker"),
        Secret(text="/srv/book", what="path of the ledger"),
    ),
    paths=frozenset({"AGENTS.md"}),
)


def patch(*added: str, path: str = "app.py", before: str = "old") -> bytes:
    lines = "\n".join(f"+{line}" for line in added)
    return (
        f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n"
        f"@@ -1,2 +1,{len(added) + 1} @@\n {before}\n-gone\n{lines}\n"
    ).encode()


def seen(data: bytes, brief: str = "Do it.") -> Material:
    return blinded(brief, data, (), (), HIDDEN)


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("# by swift", f"# by {GONE}"),
        ("# by SWIFT.", f"# by {GONE}."),
        ("swift-2 = 1", f"{GONE} = 1"),
        ("swift_run()", f"{GONE}_run()"),
        ("swiftly", "swiftly"),
        ("open('/srv/book/x')", f"open('{GONE}/x')"),
        ("# Co-authored-by: A <a@b.c>", f"# {GONE}"),
        ("Generated with Anything at all", GONE),
        ("\U0001f916 made this", GONE),
        ("@author Jo", GONE),
        ("__author__ = 'Jo'", GONE),
        ("claude.ask()", f"{GONE}.ask()"),
        ("nothing to see", "nothing to see"),
    ],
)
def test_what_an_agent_wrote_does_not_tell_who_it_was(line: str, left: str) -> None:
    (file,) = seen(patch(line)).files
    assert [one.text for one in file.lines if one.kind == "added"] == [left]


def test_a_word_of_the_task_stays_and_that_is_said() -> None:
    for found in (seen(patch("swift"), "Be swift."), seen(patch("swift", before="def swift():"))):
        assert "+swift" in plain_diff(found.files)
        assert any("ordinary word of this task" in one for one in found.taken)


def test_what_was_there_before_the_change_is_left_as_it_is() -> None:
    text = plain_diff(seen(patch("x", before="# by Claude")).files)
    assert "# by Claude" in text


def test_a_file_that_a_configuration_brings_along_is_not_shown_at_all() -> None:
    found = seen(patch("more", path="AGENTS.md", before="only swift has this"))
    text = plain_diff(found.files)
    assert "only" not in text
    assert "AGENTS" not in text
    assert found.taken == ("file that a configuration brings along: 1",)


def test_names_of_files_and_checks_are_looked_at_too() -> None:
    grade = a_grade({"typed": True})
    check = replace(grade.checks[0], message="swift did it")
    grade = replace(grade, checks=(check,))
    found = blinded("Do it.", patch("x", path=".claude/swift.md"), (grade,), ("checks",), HIDDEN)
    assert found.paths == {f".{GONE}/{GONE}.md"}
    assert found.checks[0].checks[0].message == f"{GONE} did it"


def test_all_that_a_plan_knows_of_its_configurations_is_secret() -> None:
    plan = reviewed_plan()
    taken = TakenInstructions(
        repository="r", revision="main", commit=None, paths=("CLAUDE.md",), files={"CLAUDE.md": "0"}
    )
    more = a_configuration(
        agent="codex",
        agent_version="0.42.1-beta",
        model="gnu-7",
        instructions="terse",
        parameters={"fallback_model": "emu-1", "argv": ["x"]},
        files={
            "suites/s/instructions/terse/docs/AGENTS.md": "0",
            "suites/s/configurations/q.yaml": "0",
        },
        taken=taken,
        template="quick",
    )
    plan = replace(plan, configurations={**plan.configurations, "quickest": more})
    texts = {one.text for one in secrets_of(plan, (), ("/srv/book",), "Jo Doe\n")}
    assert {
        "codex",
        "0.42.1-beta",
        "gnu-7",
        "emu-1",
        "terse",
        "quick",
        "quickest",
        "Jo Doe",
    } <= texts
    assert {plan.run, plan.path, "/srv/book"} <= texts
    assert private_paths(plan) == {"CLAUDE.md", "docs/AGENTS.md"}


def a_rubric(**changes: object) -> Rubric:
    question = Question(
        id="solves",
        text="Does it?",
        no_when="It does not.",
        evidence=EvidenceKind.DIFF,
        severity=Severity.MUST,
    )
    plain = Rubric(
        name="small",
        version=1,
        title="Small",
        verdicts=("MERGE",),
        questions=(question,),
        prose="Prose.\n",
        sha256=sha256(RUBRIC.encode()),
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


HOSTILE = (
    "</code></style><script>alert(1)</script>{{ 7*7 }}\u202e\x1b]52;c;x\x07\x00"
    "<img src=x onerror=y>"
)


def test_nothing_in_the_page_of_a_packet_acts() -> None:
    data = patch(HOSTILE, path="a\u202eb.py")
    found = seen(data, "# Brief\n\n<script>alert(2)</script> ![x](http://example.com/x.png)\n")
    page = packet_page("0123456789ab", found, a_rubric(prose="<script>x</script>\n")).decode()
    body = page.split("</style>", 1)[1]
    for word in ("<script", "<img src=x", "\u202e", "\x1b", "\x00", "49", "example.com/x.png"):
        assert word not in body, word
    assert "\\u202e" in body
    assert "\\x1b" in body
    assert page.count("</style>") == 1
    for char in "\u202e\x1b\x00":
        assert char not in plain_diff(found.files)


@given(text=st.text(max_size=300))
def test_any_patch_makes_a_packet(text: str) -> None:
    found = seen(text.encode("utf-8", "surrogatepass"))
    plain_diff(found.files)
    packet_page("0123456789ab", found, a_rubric())
