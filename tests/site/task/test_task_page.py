from __future__ import annotations

from pathlib import Path

import pytest
from tests.recorded import full_ledger

from trialbook.registry import Registry
from trialbook.site.ledger_view import LedgerView
from trialbook.site.render import Renderer
from trialbook.site.task.page import task_pages
from trialbook.site.units import TaskRef
from trialbook.storage.reader import Reader

SECRET = "KEPT_FROM_AGENTS"
SITE = {"title": "Evals", "navigation": [], "version": "1"}


def suite_with_secrets(root: Path) -> None:
    suite = root / "suites" / "secretive"
    task = suite / "tasks" / "refund"
    for folder in ("private/tests", "private/near"):
        (task / folder).mkdir(parents=True)
    (suite / "configurations").mkdir()
    (suite / "snapshot").mkdir()
    (suite / "snapshot" / "a.py").write_text("a = 1\n")
    (suite / "suite.yaml").write_text(
        "suite: secretive\nprotocol: 1\ndecision: Which one?\nconfigurations: [plain]\n"
        "accept: acceptance and checks\n"
    )
    (suite / "configurations" / "plain.yaml").write_text(
        "configuration: plain\nagent: command\nwith: {argv: ['true']}\n"
    )
    (task / "brief.md").write_text("# <script>alert(1)</script> Refunds\n\nDo *it*.\n")
    (task / "task.yaml").write_text(
        "task: refund\nsnapshot: {folder: ../../snapshot}\nbrief: brief.md\ngraders:\n"
        "  - checks: checks.yaml\n"
        "  - acceptance: {run: pytest, tests: private/tests, expect: private/expected.json}\n"
        "reference: private/reference.patch\n"
    )
    (task / "checks.yaml").write_text(
        "checks:\n  - id: there\n    question: Is <b>it</b> there?\n    type: file_contains\n"
        f"    file: a.py\n    pattern: '{SECRET}-pattern'\n"
    )
    (task / "private" / "tests" / "test_it.py").write_text(f"def test_{SECRET}(): ...\n")
    (task / "private" / "expected.json").write_text(
        '{"passed": ["t::' + SECRET + '"], "must_fail": []}\n'
    )
    (task / "private" / "reference.patch").write_text(
        f"diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-a = 1\n+{SECRET} = 2\n"
    )


def html_of(root: Path, suite: str, task: str) -> str:
    view = LedgerView(root, Reader.open(root), Registry())
    pages = list(task_pages(view, TaskRef(suite, task)))
    return "".join(Renderer(root / "none").render(page, SITE).decode() for page in pages)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = full_ledger(tmp_path_factory.mktemp("tasks") / "ledger")
    suite_with_secrets(folder)
    return folder


def test_nothing_that_is_kept_from_agents_is_on_the_page(root: Path) -> None:
    view = LedgerView(root, Reader.open(root), Registry())
    assert view.faults("secretive") == ()
    html = html_of(root, "secretive", "refund")
    assert SECRET not in html
    assert "expected.json" not in html
    assert "kept from agents" in html


def test_the_brief_and_the_questions_are_and_do_nothing(root: Path) -> None:
    html = html_of(root, "secretive", "refund")
    assert "<em>it</em>" in html
    assert "Is &lt;b&gt;it&lt;/b&gt; there?" in html
    assert "<script>alert" not in html
    assert "It was never run." in html


def test_checks_in_a_private_folder_are_not_told(root: Path) -> None:
    task = root / "suites" / "secretive" / "tasks" / "refund"
    text = (task / "task.yaml").read_text()
    (task / "private" / "checks.yaml").write_bytes((task / "checks.yaml").read_bytes())
    (task / "task.yaml").write_text(text.replace("checks: checks", "checks: private/checks"))
    html = html_of(root, "secretive", "refund")
    (task / "task.yaml").write_text(text)
    assert "there?" not in html
    assert "Its questions are kept from agents" in html


def test_a_task_that_is_gone_shows_its_trials_over_time(root: Path) -> None:
    html = html_of(root, "instruction-drift", "create-user")
    assert "not in the suite now" in html
    assert 'class="matrix pinned task-strip"' in html
    assert "create-user/baseline/r1.html" in html
    assert "Accepted in" in html
