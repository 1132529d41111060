from __future__ import annotations

from dataclasses import replace

import pytest

from trialbook.model.trust import JudgeUse, TrustLevel, allows
from trialbook.stats.agreement import Repeats
from trialbook.stats.calibration import Confusion
from trialbook.stats.trust import CalibrationFacts, trust

GOOD = CalibrationFacts(
    same_judge=True,
    errors=Confusion(true_accepts=28, false_rejects=2, false_accepts=2, true_rejects=28),
    critical_false_accepts=0,
    noted=4,
    repeated=Repeats(units=20, identical=19, runs=3),
    age_days=90,
)
"""A judge that meets every requirement, and none of them by more than it has to."""


def errors(tp: int, fn: int, fp: int, tn: int) -> Confusion:
    return Confusion(true_accepts=tp, false_rejects=fn, false_accepts=fp, true_rejects=tn)


def unmet(facts: CalibrationFacts) -> tuple[TrustLevel, set[str]]:
    found = trust(facts)
    return found.level, {f"{one.level}: {one.name}" for one in found.unmet}


def test_a_judge_that_meets_everything_may_gate() -> None:
    assert unmet(GOOD) == (TrustLevel.GATING, set())


def test_a_judge_that_nobody_compared_is_uncalibrated_and_says_so() -> None:
    found = trust(None)
    assert found.level is TrustLevel.UNCALIBRATED
    assert [one.message for one in found.unmet] == ["it was never compared with people"]


@pytest.mark.parametrize(
    ("changed", "level", "missing"),
    [
        ({"same_judge": False}, "uncalibrated", {"advisory: same_judge"}),
        ({"critical_false_accepts": 1}, "uncalibrated", {"advisory: critical_false_accepts"}),
        ({"noted": 3}, "uncalibrated", {"advisory: notes"}),
        ({"age_days": 90.5}, "advisory", {"gating: age"}),
        ({"age_days": None}, "advisory", {"gating: age"}),
        ({"repeated": Repeats(units=19, identical=19, runs=3)}, "advisory", {"gating: repeats"}),
        ({"repeated": Repeats(units=20, identical=20, runs=2)}, "advisory", {"gating: repeats"}),
        ({"repeated": Repeats(units=20, identical=18, runs=3)}, "advisory", {"gating: identical"}),
        ({"repeated": Repeats(units=0, identical=0, runs=0)}, "advisory", {"gating: repeats"}),
        ({"errors": errors(28, 2, 3, 27), "noted": 5}, "advisory", {"gating: tnr"}),
        ({"errors": errors(27, 3, 2, 28), "noted": 5}, "advisory", {"gating: tpr"}),
        (
            {"errors": errors(29, 0, 0, 30), "noted": 0},
            "advisory",
            {"gating: labels", "gating: accepts"},
        ),
        (
            {"errors": errors(31, 0, 0, 29), "noted": 0},
            "advisory",
            {"gating: rejects"},
        ),
    ],
)
def test_each_requirement_that_is_not_met_is_named(
    changed: dict[str, object], level: str, missing: set[str]
) -> None:
    assert unmet(replace(GOOD, **changed)) == (level, missing)  # type: ignore[arg-type]


def test_twenty_labels_can_make_a_judge_advisory() -> None:
    twenty = replace(GOOD, errors=errors(11, 1, 2, 6), noted=3)
    level, missing = unmet(twenty)
    assert level is TrustLevel.ADVISORY
    lacking = {"labels", "accepts", "rejects", "tnr", "tpr"}
    assert missing == {f"gating: {one}" for one in lacking}


@pytest.mark.parametrize(
    ("found", "missing"),
    [
        (errors(8, 0, 0, 11), {"advisory: labels"}),
        (errors(7, 0, 0, 13), {"advisory: accepts"}),
        (errors(13, 0, 0, 7), {"advisory: rejects"}),
        (errors(8, 2, 2, 8), set()),
        (errors(8, 3, 2, 8), {"advisory: agreement"}),
    ],
)
def test_what_an_advisory_judge_needs(found: Confusion, missing: set[str]) -> None:
    facts = replace(GOOD, errors=found, noted=found.labelled)
    assert {one for one in unmet(facts)[1] if one.startswith("advisory")} == missing


def test_messages_carry_the_numbers() -> None:
    facts = replace(GOOD, errors=errors(27, 3, 2, 28), noted=1, age_days=120.4)
    said = [one.message for one in trust(facts).unmet]
    assert said == [
        "1 of 5 disagreements have a person's written note; each needs one",
        "27 of 30 accepts of what people accepted: a lower bound of 0.761; needed is 0.80",
        "it was compared 120 days ago; needed is at most 90",
    ]
    nothing = replace(GOOD, errors=errors(0, 0, 0, 0), noted=0)
    said = [one.message for one in trust(nothing).unmet]
    assert "labelled diffs: 0; needed are 20" in said
    assert "it agrees with people on 0 of 0 diffs; needed are 80%" in said
    assert "0 of 0 rejects of what people rejected: no lower bound; needed is 0.80" in said


@pytest.mark.parametrize(
    ("use", "least"),
    [
        (JudgeUse.OPINION, TrustLevel.UNCALIBRATED),
        (JudgeUse.FINDINGS, TrustLevel.ADVISORY),
        (JudgeUse.QUEUE, TrustLevel.ADVISORY),
        (JudgeUse.CORRECTED_RATE, TrustLevel.ADVISORY),
        (JudgeUse.ACCEPTANCE, TrustLevel.GATING),
    ],
)
def test_a_level_limits_what_a_judge_may_be_used_for(use: JudgeUse, least: TrustLevel) -> None:
    levels = list(TrustLevel)
    assert [level for level in levels if allows(level, use)] == levels[levels.index(least) :]
