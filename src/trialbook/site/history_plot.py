"""Acceptance over time: run by run, with a break where the protocol number changes."""

from __future__ import annotations

from collections.abc import Sequence

from trialbook.reporting.brief import RunBrief
from trialbook.reporting.wording import number_of, rate
from trialbook.site.plots.drawing import Plot, Told
from trialbook.site.plots.history import Moment, history_curves

_RUNS = 60
_LINES = 12


def history_plot(briefs: Sequence[RunBrief], names: Sequence[str] = ()) -> Plot | None:
    """The history of a suite's configurations, or of some; none for fewer than two runs.

    What is drawn of each run is accepted of all scheduled slots. Runs of part of the suite, drafts
    and open runs compare with no other: no line leads to them.
    """
    had = [one for one in briefs if _known(one, names)]
    shown = had[-_RUNS:]
    if len(shown) < 2:  # noqa: PLR2004 - a history
        return None
    lines = list(dict.fromkeys(row for one in reversed(shown) for row in _known(one, names)))
    lines = lines[:_LINES]
    moments = [
        Moment(
            group=f"protocol {one.protocol}",
            when=one.created[:10],
            shares={name: share for name, share in _known(one, names).items() if name in lines},
            hollow=_apart(one),
        )
        for one in shown
    ]
    protocols = list(dict.fromkeys(one.protocol for one in shown))
    return history_curves(
        lines,
        moments,
        Told(
            title="Accepted over time",
            text=_text(shown, protocols, len(had)),
            note="Accepted of all scheduled slots. A line leads from run to run of one protocol "
            "number and never across a break, since other questions were asked there. Hollow: a "
            "draft, an open run, or one of a part of the suite, which compare with nothing.",
            columns=("run", "protocol", "configuration", "accepted, all scheduled", "state"),
            rows=[
                (one.run, str(one.protocol), row.name, rate(row.counts.all_scheduled), _state(one))
                for one in reversed(shown)
                for row in one.configurations
                if row.name in lines
            ],
        ),
    )


def _known(brief: RunBrief, names: Sequence[str]) -> dict[str, float]:
    return {
        row.name: float(row.counts.all_scheduled.rate)
        for row in brief.configurations
        if row.counts.all_scheduled.rate is not None and (not names or row.name in names)
    }


def _apart(brief: RunBrief) -> bool:
    return brief.draft or brief.partial or not brief.closed


def _state(brief: RunBrief) -> str:
    states = ((brief.draft, "draft"), (brief.partial, "part"), (not brief.closed, "open"))
    return ", ".join(word for holds, word in states if holds) or "complete"


def _text(shown: Sequence[RunBrief], protocols: Sequence[int], known: int) -> str:
    whole = sum(not _apart(one) for one in shown)
    kept = f"The newest {len(shown)} of {known} runs" if known > len(shown) else f"{known} runs"
    said = f"{kept} under {number_of(len(protocols), 'protocol number')}"
    return f"{said}; {whole} of them {'is' if whole == 1 else 'are'} complete and no draft."
