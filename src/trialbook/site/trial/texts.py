"""Prompts and logs: what fits is on the trial's page, the rest has pages of numbered lines."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from markupsafe import Markup

from trialbook.api import Page
from trialbook.formats.records import plain
from trialbook.formats.visible import decode, unstyled
from trialbook.model.trial import CutFile, Trial
from trialbook.reporting.wording import size
from trialbook.site.addresses import run_page, suite_page, text_page, trial_page
from trialbook.site.diff.line_text import LONGEST, line_html
from trialbook.site.paging import paged
from trialbook.site.text import excerpt
from trialbook.site.trial.files import TrialFiles
from trialbook.storage.reader import RunRef

_INLINE = 16_000
_HEAD, _TAIL = 6_000, 4_000
_TEXTS = 40
_LINES = 1_500
_MOST_LINES = 60_000
_ATTEMPT = re.compile(r"sessions/(\d+)/attempt-(\d+)/(.+)")
_PROMPT = "prompt.md"


def shown_texts(run: RunRef, files: TrialFiles) -> dict[str, Any]:
    """Prompts and logs, as many as a page holds."""
    prompts = [*_texts(run, files, prompts=True)]
    logs = sorted(_texts(run, files, prompts=False), key=_order)
    return {
        "prompts": prompts[:_TEXTS],
        "logs": logs[:_TEXTS],
        "logs_hidden": max(0, len(logs) - _TEXTS),
    }


def text_pages(run: RunRef, files: TrialFiles) -> Iterator[Page]:
    """The pages of those texts that the trial's page does not show as a whole."""
    for path, data in files.texts.items():
        if len(data) > _INLINE:
            yield from _pages(run, files.trial, path, data)


def _order(text: dict[str, Any]) -> tuple[bool, bool]:
    # What there is to read comes first, and of it what the agent said.
    return text["empty"], not text["name"].endswith("stdout.txt")


def _texts(run: RunRef, files: TrialFiles, *, prompts: bool) -> Iterator[dict[str, Any]]:
    """The text files of one kind, by session and attempt as their paths say."""
    trial = files.trial
    cut = {file.path: _cut(trial, file) for file in trial.cut}
    for path, data in files.texts.items():
        if path.endswith(f"/{_PROMPT}") is not prompts:
            continue
        place = _ATTEMPT.fullmatch(path)
        whole = len(data) <= _INLINE
        head, tail = (_INLINE, 0) if whole else (_HEAD, _TAIL)
        yield {
            "path": path,
            "name": place[3] if place else path,
            "session": int(place[1]) if place else None,
            "attempt": int(place[2]) if place else None,
            "size": size(len(data)),
            "cut": cut.get(path),
            "text": plain(excerpt(data, head=head, tail=tail)),
            "page": "" if whole else text_page(run, trial.path, path),
            "empty": whole and not decode(data).strip(),
        }


def _pages(run: RunRef, trial: Trial, path: str, data: bytes) -> Iterator[Page]:
    lines = unstyled(decode(data)).split("\n")
    if not lines[-1]:
        lines.pop()
    hidden = max(0, len(lines) - _MOST_LINES)
    folded = sum(len(line) > LONGEST for line in lines)
    title = f"{trial.task} · {trial.configuration} · r{trial.repetition}"
    whole = f"runs/{trial.suite}/{trial.run}/{trial.path}/{path}"
    cut = next((_cut(trial, file) for file in trial.cut if file.path == path), None)
    for part in paged(lines[:_MOST_LINES], text_page(run, trial.path, path), "line", size=_LINES):
        context = {
            "suite": {"name": trial.suite, "page": suite_page(trial.suite)},
            "run": {"name": trial.run, "page": run_page(run)},
            "trial": {"name": title, "page": trial_page(run, trial.path)},
            "name": path,
            "size": size(len(data)),
            "cut": cut,
            "hidden": hidden,
            "folded": folded,
            "longest": LONGEST,
            "lines": _numbered(part.rows, (part.number - 1) * _LINES + 1),
            "paged": part,
            "commands": [f"git show HEAD:./{shlex.quote(whole)}"],
        }
        name = f"{path}, page {part.number}" if part.number > 1 else path
        yield Page(
            path=part.path, template="text.html", title=f"{name} of {title}", context=context
        )


def _numbered(lines: Sequence[str], start: int) -> Markup:
    rows = (
        f'<div id="l{number}"><a href="#l{number}" tabindex="-1">{number}</a>'
        f"<code>{line_html(line)}</code></div>\n"
        for number, line in enumerate(lines, start=start)
    )
    return Markup("".join(rows))  # noqa: S704 - numbers and escaped lines


def _cut(trial: Trial, file: CutFile) -> dict[str, str]:
    """What a page says of a log that was cut: how much there was, and how to get at it."""
    whole = f"runs/{trial.suite}/{trial.run}/{trial.path}/{file.full}"
    command = f"git show HEAD:./{shlex.quote(whole)} | git lfs smudge"
    return {
        "size": size(file.bytes),
        "sha256": file.sha256,
        "full": file.full or "",
        "command": command if file.full else "",
    }
