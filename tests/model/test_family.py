from __future__ import annotations

import pytest

from trialbook.model.family import family_of, same_family


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("claude-sonnet-4-5-20250929", "claude"),
        ("us.anthropic.claude-opus-4-v1:0", "claude"),
        ("gpt-5.5", "gpt"),
        ("o3-mini", "gpt"),
        ("gemini-3-pro", "gemini"),
        ("Qwen/Qwen3-Coder", "qwen"),
        ("in-house-7", None),
        (None, None),
    ],
)
def test_a_models_name_tells_its_family_or_does_not(model: str | None, family: str | None) -> None:
    assert family_of(model) == family


def test_models_of_one_family_are_told_and_unknown_ones_are_not_guessed() -> None:
    assert same_family("claude-opus-4", "claude-haiku-4") is True
    assert same_family("claude-opus-4", "gpt-5.5") is False
    assert same_family("claude-opus-4", None) is None
