"""``python -m trialbook`` is the same as ``trialbook``."""

from __future__ import annotations

import sys

from trialbook.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
