"""The program and the machine that it runs on, as plans and locks record them."""

from __future__ import annotations

import os
import platform

from trialbook import __version__
from trialbook.model.plan import Runner
from trialbook.process import git_version
from trialbook.storage.scanner import installed_scanner


def this_runner() -> Runner:
    """What runs now."""
    return Runner(
        trialbook=__version__,
        python=platform.python_version(),
        platform=f"{platform.system()} {platform.machine()}",
        git=git_version(),
        cpus=os.cpu_count(),
        scanner=installed_scanner(),
    )
