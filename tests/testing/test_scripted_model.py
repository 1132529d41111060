"""The scripted model: which step answers what, in every protocol, and what it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from trialbook.testing.scripted_model import ScriptedModel, ScriptError, read_scripts

STEPS = [
    {
        "text": "Looking.",
        "tools": [{"name": "look", "input": {"at": "x"}}],
        "usage": {"in": 7, "out": 3, "cache_read": 2},
    },
    {"text": "Done."},
]
SCRIPTS = {
    "plain": STEPS,
    "scenes": [
        {"when": "first task", "steps": [{"text": "the first"}]},
        {"when": "second", "steps": [{"text": "the second"}]},
    ],
    "down": [{"status": 529, "body": {"error": "busy"}}],
}


@pytest.fixture
def served(tmp_path: Path) -> Iterator[ScriptedModel]:
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "all.json").write_text(json.dumps(SCRIPTS))
    server = ScriptedModel(0, read_scripts([tmp_path / "scripts"]), tmp_path / "log.jsonl")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def ask(served: ScriptedModel, path: str, body: dict[str, Any]) -> tuple[int, str]:
    request = urllib.request.Request(
        f"http://127.0.0.1:{served.server_port}{path}",
        data=json.dumps(body).encode(),
        headers={"content-type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def said(served: ScriptedModel, model: str, *history: dict[str, Any], **more: Any) -> str:
    body = {"model": model, "messages": [{"role": "user", "content": "Go."}, *history], **more}
    status, text = ask(served, "/v1/chat/completions", body)
    assert status == 200, text
    content: str = json.loads(text)["choices"][0]["message"]["content"]
    return content


TOOLS = [{"type": "function", "function": {"name": "look"}}]
ANSWERED = {"role": "assistant", "content": "Looking."}


def test_the_step_follows_from_the_history_alone(served: ScriptedModel) -> None:
    assert said(served, "plain", tools=TOOLS) == "Looking."
    assert said(served, "plain", tools=TOOLS) == "Looking."
    assert said(served, "plain", ANSWERED, {"role": "tool"}, tools=TOOLS) == "Done."
    more = [ANSWERED, {"role": "tool"}] * 5
    assert said(served, "plain", *more, tools=TOOLS) == "Done."
    # A title, say: whoever asks for that offers no tools.
    assert said(served, "plain") == "ok"


def test_words_of_the_request_choose_the_scene(served: ScriptedModel) -> None:
    asked = {"role": "user", "content": "This is the second one."}
    assert said(served, "scenes", asked, tools=TOOLS) == "the second"
    status, text = ask(served, "/v1/chat/completions", {"model": "scenes", "tools": TOOLS})
    assert (status, "no script is for this request" in text) == (400, True)
    status, text = ask(served, "/v1/messages", {"model": "unheard-of", "tools": TOOLS})
    assert (status, "model unheard-of" in text) == (400, True)


@pytest.mark.parametrize(
    ("path", "whole", "pieces"),
    [
        ("/v1/messages", '"type": "tool_use"', "event: content_block_delta"),
        ("/v1/chat/completions", '"tool_calls"', "data: [DONE]"),
        ("/v1/responses", '"type": "function_call"', "event: response.completed"),
    ],
)
def test_an_answer_comes_whole_or_in_pieces(
    served: ScriptedModel, path: str, whole: str, pieces: str
) -> None:
    body = {"model": "plain", "tools": TOOLS}
    status, text = ask(served, path, body)
    assert (status, whole in text, "Looking." in text) == (200, True, True)
    status, text = ask(served, path, body | {"stream": True})
    assert (status, pieces in text, "Looking." in text) == (200, True, True)


def test_gemini_names_the_model_in_its_path(served: ScriptedModel) -> None:
    path = "/v1beta/models/plain:streamGenerateContent?alt=sse"
    status, text = ask(served, path, {"contents": [], "tools": TOOLS})
    assert status == 200
    answer = json.loads(text.removeprefix("data: "))
    assert answer["candidates"][0]["content"]["parts"][1]["functionCall"]["name"] == "look"
    used = answer["usageMetadata"]
    assert (used["promptTokenCount"], used["cachedContentTokenCount"]) == (9, 2)


def test_errors_and_everything_asked_are_on_record(served: ScriptedModel, tmp_path: Path) -> None:
    assert ask(served, "/v1/messages", {"model": "down"}) == (529, '{"error": "busy"}')
    assert ask(served, "/v1/messages/count_tokens", {})[0] == 200
    assert ask(served, "/v1/nothing", {})[0] == 404
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [line["path"] for line in lines] == [
        *("/v1/messages", "/v1/messages/count_tokens", "/v1/nothing")
    ]
    assert (lines[0]["model"], lines[0]["step"], lines[0]["body"]) == ("down", 0, {"model": "down"})


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("[]", "has to map the names of models"),
        ("{", "Expecting property name"),
        ('{"m": []}', "has one at least"),
        ('{"m": [{"txt": "x"}]}', "m, step 1: txt is not known"),
        ('{"m": [{"when": 1, "steps": [{}]}]}', "m, scene 1: it has the keys"),
        ('{"m": [{"when": "x", "steps": []}]}', "m, scene 1: it has no steps"),
        ('{"m": [7]}', "step 1: no mapping"),
    ],
)
def test_mistakes_in_scripts_are_told(tmp_path: Path, text: str, wrong: str) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(ScriptError, match=wrong):
        read_scripts([tmp_path / "a.json"])
    argv = [sys.executable, "-m", "trialbook.testing.scripted_model", str(tmp_path)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=30)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert "a.json" in done.stderr


def test_two_scripts_for_one_model_are_refused(tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text('{"m": [{"text": "x"}]}')
    with pytest.raises(ScriptError, match="m has a script already"):
        read_scripts([tmp_path])
