"""python -m tally 1.10 2.20 prints 3.30."""

import sys

from tally.amounts import total

print(total(sys.argv[1:]))
