from __future__ import annotations

from dataclasses import replace

from tests.calibration.compared import IDENTITY


def test_of_a_program_that_names_no_model_none_is_told() -> None:
    scripted = replace(IDENTITY, client="command", model=None)
    assert scripted.asked == "a program that names no model"
    assert replace(scripted, client="codex").asked == "a model that its client chooses"
    assert replace(scripted, model="house-1").asked == "house-1"
