"""Groups of findings in words, for the terminal and the site."""

from __future__ import annotations

from trialbook.reporting.findings import CHECK, REMARK, Group


def about_said(group: Group) -> str:
    """What a group is about, in a line."""
    about = group.about
    what = "remark" if about.source == REMARK else f"{about.source} {about.item}"
    where = f" at {about.place}" if about.place and about.source != CHECK else ""
    return f"{what}{where}: {about.text}" if about.text else f"{what}{where}"


def rules_said(group: Group) -> str:
    """What became of it: where, since when, and how often it was sent back since."""
    if not group.rules:
        return "none yet"
    said = [f"{rule.kind}: {rule.link} ({rule.created[:10]})" for rule in group.rules]
    times = len(group.repeats)
    since = "not sent back since" if not times else f"SENT BACK {times} TIMES SINCE"
    if times == 1:
        since = "SENT BACK ONCE SINCE"
    return f"{'; '.join(said)}; {since}"
