"""`python -m rotor`."""

import sys

from rotor.cli import main

sys.exit(main())
