"""A ledger in which everything is hostile that agents, tasks, reviewers and authors write.

It is this repository's ledger, or a made one, with a payload in every text that no schema narrows
down: so a new field of a record is hostile here as soon as there is one. Beside it stand a run
whose names are hostile too, hostile prose, and hostile names in git.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.browser.sites import own_or_made
from tests.conftest import git
from tests.recorded import (
    HOSTILE_PATCH,
    a_bundle,
    a_configuration,
    a_grade,
    a_plan,
    a_task,
    a_trial,
    hostile_run,
)

from trialbook.formats.authored import read_document
from trialbook.formats.records import to_json
from trialbook.formats.schema import load_schema
from trialbook.model.outcome import Outcome
from trialbook.model.plan import Plan
from trialbook.model.trial import TrialBundle

CANARY = "payload"
"""The name that every payload would give to `window` if it ran."""

ELEMENT = "hostile-mark"
"""An element that only payloads make."""

ADDRESS = "hostile.invalid"
"""Where payloads would load from, or send to."""

_RUN = f"window.{CANARY}=(window.{CANARY}||0)+1"
PAYLOADS = tuple(
    payload.replace("RUN", _RUN).replace("ADDRESS", f"https://{ADDRESS}").replace("MARK", ELEMENT)
    for payload in (
        "</script></title></textarea></style></pre></template><MARK>mark</MARK>",
        "<MARK></MARK><script>RUN;alert(1)</script>",
        "\"'`><img src=x onerror=RUN><svg onload=RUN>",
        "<iframe srcdoc='<script>top.payload=1</script>'></iframe>",
        "\" autofocus onfocus='RUN' onmouseover='RUN' style='position:fixed' x=\"",
        "--><base href=ADDRESS/><meta http-equiv=refresh content='0;url=ADDRESS/'>",
        "<link rel=stylesheet href=ADDRESS/a.css><form action=ADDRESS/><input name=q>",
        "[a link](javascript:RUN) <javascript:RUN> ![x](ADDRESS/x.png)",
        "[b](JaVaScRiPt&colon;RUN) [c](data:text/html,<script>RUN</script>) [d]: javascript:RUN",
        "{{ 7*7 }} {% for a in b %} ${7*7} <%= 7*7 %> {{ ''.__class__ }} #{7*7}",
        "\x1b]0;title\x07\x1b]8;;ADDRESS\x07link\x1b[31mred\x1b[0m\x1b[2J \x9b31m",
        "\u202egnp.exe\u202c \u2066x\u2069 \u200b\ufeff \u2028\u2029 \x7f \x0b end",
        "`</code>` ```\n</pre>\n``` | a | b |\n# heading\n<details ontoggle=RUN open>",
        "'; RUN; //\\\" </SCRIPT ><scr<script>ipt> &lt;b&gt; &#x3c;MARK&#x3e; \\u003cMARK\\u003e",
    )
)

# What gives a record its place, or is compared with something: changed, it would not be read.
_KEPT = {
    *("run", "suite", "task", "configuration", "repetition", "stage", "level", "path", "slot"),
    *("name", "id", "schema", "version", "seed", "group", "distribution", "agent", "agents"),
    *("grader", "reviewer", "packet", "rubric", "judge", "question", "item", "call", "argv"),
    *("replaces", "trial", "baseline", "candidate", "accept", "configurations", "tasks", "brief"),
    *("folder", "package", "git", "archive", "toolchain"),
}
_NARROW = {"enum", "const", "pattern", "format"}
_IDENTITY = re.compile(
    r"[0-9a-f]{6,64}|[0-9]{8}T.*|[0-9]{4}-[0-9]{2}-[0-9]{2}.*|[0-9.]+|", re.ASCII
)


class Poison:
    """Puts payloads into records, one after the other, so that every one comes to every place."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._names = frozenset(names)
        self._next = 0
        self.count = 0

    def text(self, before: str) -> str:
        """A text with two payloads behind it."""
        self._next += 1
        self.count += 1
        first, second = (PAYLOADS[(self._next + add) % len(PAYLOADS)] for add in (0, 5))
        return f"{before} {first} {second}"

    def value(self, value: Any, schema: Any, top: Mapping[str, Any], key: str = "") -> Any:
        """A value of a record, poisoned wherever its schema lets any text stand."""
        schemas = list(_alternatives(schema, top))
        if isinstance(value, str):
            free = any("string" in _types(one) and not _NARROW & one.keys() for one in schemas)
            named = value.rpartition("/")[2] in self._names or _IDENTITY.fullmatch(value)
            kept = named or key in _KEPT or not free
            return value if kept else self.text(value)
        if isinstance(value, list):
            items = next((one["items"] for one in schemas if "items" in one), {})
            return [self.value(item, items, top, key) for item in value]
        if isinstance(value, dict):
            return {
                name: self.value(inner, _property(schemas, name), top, name)
                for name, inner in value.items()
            }
        return value


def _alternatives(schema: Any, top: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    if not isinstance(schema, dict):
        return
    if "$ref" in schema:
        yield from _alternatives(top.get("$defs", {}).get(schema["$ref"].split("/")[-1]), top)
    for one in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from _alternatives(one, top)
    yield schema


def _types(schema: Mapping[str, Any]) -> list[str]:
    types = schema.get("type", [])
    return [types] if isinstance(types, str) else list(types)


def _property(schemas: Iterable[Mapping[str, Any]], name: str) -> Any:
    for schema in schemas:
        if name in schema.get("properties", {}):
            return schema["properties"][name]
        if isinstance(schema.get("additionalProperties"), dict):
            return schema["additionalProperties"]
    return {}


def hostile_ledger(folder: Path) -> Path:
    """Make it in a folder; gives the folder."""
    source = own_or_made(folder.with_name("source"))
    folder.mkdir(parents=True)
    for name in ("runs", "suites", "rubrics"):
        if (source / name).is_dir():
            shutil.copytree(source / name, folder / name, symlinks=True)
    for suite in (folder / "runs").iterdir():
        for run in sorted(suite.glob("2*"))[:-1]:
            shutil.rmtree(run)  # the newest run of each suite is enough
    paths = sorted(folder.rglob("*"))
    # What is the name of a file or a folder gives records their places.
    poison = Poison(
        name for path in (folder / "runs").rglob("*") for name in (path.name, path.stem)
    )
    for path in paths:
        if path.is_file() and not path.is_symlink():
            _poison_file(path, path.relative_to(folder), poison)
    assert poison.count > 100, "hardly anything is hostile"
    _prose(folder, poison)
    _write_run(folder, *hostile_run())
    _write_run(folder, *_named_hostile())
    git(folder, "init", "-q", "-b", "main")
    git(folder, "checkout", "-q", "-b", "x--script-alert(1)-script-&'\"<b>")
    git(folder, "add", "-A", "-f")
    git(folder, "commit", "-q", "-m", poison.text("a commit"))
    return folder


def _write_run(folder: Path, plan: Plan, bundles: Sequence[TrialBundle]) -> None:
    """A run's files as somebody's own program may have written them: past every check of ours."""
    base = folder / "runs" / plan.path
    files = {"plan.json": to_json(plan)}
    for bundle in bundles:
        files |= {f"{bundle.record.path}/{name}": data for name, data in bundle.files.items()}
        files[f"{bundle.record.path}/trial.json"] = to_json(bundle.record)
    for name, data in files.items():
        path = base / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def _poison_file(path: Path, where: Path, poison: Poison) -> None:
    if path.suffix == ".json" and where.parts[0] == "runs":
        try:
            data = json.loads(path.read_bytes())
        except ValueError:
            return  # it is broken on purpose
        kind = str(data.get("schema", "")) if isinstance(data, dict) else ""
        if kind.startswith("trialbook/"):
            schema = load_schema(kind.split("/")[1])
            path.write_text(json.dumps(poison.value(data, schema, schema), indent=2))
    elif path.suffix in {".yaml", ".yml"} and "private" not in where.parts:
        _poison_authored(path, where, poison)
    elif path.name == "brief.md" or (where.parts[0] == "runs" and path.suffix in {".txt", ".md"}):
        with path.open("a", encoding="utf-8") as file:
            file.write("\n" + "\n".join(map(poison.text, "abcde")) + "\n\x00\xff" + "x" * 5000)
    elif path.suffix == ".patch" and where.parts[0] == "runs":
        with path.open("ab") as raw:
            raw.write(HOSTILE_PATCH + b"+" + poison.text("in a patch").encode() + b"\n")


_AUTHORED = {"suite.yaml": "suite", "task.yaml": "task", "checks.yaml": "checks"}


def _poison_authored(path: Path, where: Path, poison: Poison) -> None:
    document, _ = read_document(path, str(where))
    if document is None or not isinstance(document.data, dict):
        return
    kind = _AUTHORED.get(path.name) or {
        "configurations": "configuration",
        "reviews": "review",
        "reconciliations": "reconciliation",
        "incidents": "incident",
    }.get(next((part for part in where.parts[::-1][1:] if part in _FOLDERS), ""), "")
    if kind:
        schema = load_schema(kind)
        plain = json.loads(json.dumps(document.data, default=str))
        path.write_text(json.dumps(poison.value(plain, schema, schema), indent=1))


_FOLDERS = ("configurations", "reviews", "reconciliations", "incidents")


def _prose(folder: Path, poison: Poison) -> None:
    pages = folder / "site/pages"
    (pages / "how-to").mkdir(parents=True)
    words = "\n\n".join(f"{poison.text(f'paragraph {n}')}" for n in range(len(PAYLOADS)))
    title = json.dumps(poison.text("Our pages"))
    heading = poison.text("A heading")
    (pages / "index.md").write_text(f"---\ntitle: {title}\n---\n\n# {heading}\n\n{words}\n")
    table = f"| a | b |\n| - | - |\n| {words[:80]} | c |\n"
    (pages / "how-to/page.md").write_text(f"# A page\n\n{words}\n\n{table}")
    title = f"</title><{ELEMENT}>\"'\x1b[31m \u202e{{{{ 7*7 }}}}"
    settings = {"title": title, "description": poison.text("what it is")[:500]}
    (folder / "site/site.yaml").write_text(json.dumps(settings))


def _named_hostile() -> tuple[Plan, list[TrialBundle]]:
    """A run in which what gives names to files and folders is hostile too."""
    task = f"<{ELEMENT}>&amp;\"'%2F?x=1#y \u202e\x1b[31m"
    name = f'"><img src=x onerror={_RUN}>'
    plan = a_plan({name: a_configuration()}, [task], repetitions=1, suite=f"s<{ELEMENT}>&'\" %3C?#")
    plan = replace(plan, run=f"20261203-080000-'\"<{ELEMENT}>", tasks={task: a_task()})
    slot = plan.schedule[0].key
    grade = a_grade({f"check<{ELEMENT}>\"'": False}, message=PAYLOADS[0])
    trial = a_trial(plan, slot, Outcome.REJECTED, reason=PAYLOADS[1])
    files = {
        f"sessions/1/attempt-1/<{ELEMENT}>\"'&?#%2e.txt": PAYLOADS[2].encode(),
        "sessions/1/attempt-1/java\tscript\x1b[2J.txt": PAYLOADS[10].encode(),
        "sessions/1/attempt-1/stdout.txt": "\n".join(PAYLOADS).encode(),
    }
    return plan, [a_bundle(trial, patch=HOSTILE_PATCH, grades=[grade], files=files)]
