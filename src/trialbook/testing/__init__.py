"""Conformance checks for plugins, one for each seam: run them in a plugin's own tests.

Each check raises `NotConforming`, which names the first promise that the plugin breaks.
"""

from __future__ import annotations

from trialbook.testing.agents import check_agent
from trialbook.testing.claims import NotConforming
from trialbook.testing.executors import check_executor
from trialbook.testing.graders import GradingCase, check_grader
from trialbook.testing.pages import check_pages
from trialbook.testing.sandboxes import check_sandbox

__all__ = [
    "GradingCase",
    "NotConforming",
    "check_agent",
    "check_executor",
    "check_grader",
    "check_pages",
    "check_sandbox",
]
