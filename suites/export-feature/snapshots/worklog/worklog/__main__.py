"""`python -m worklog`."""

import sys

from worklog.cli import main

sys.exit(main())
