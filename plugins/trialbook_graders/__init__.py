"""First-party graders: structural checks and private acceptance tests."""

from __future__ import annotations
