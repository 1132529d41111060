"""What keeps an untrusted process in bounds, on both sides of the control pipe.

The supervisor's side is the script `trialbook.supervisor` with `descendants`, `launch`, `output`
and `watch`: the standard library only, and little of it, since one is started for every process.
The runner's side is `trialbook.process` with `protocol` and `adoption`.
"""

from __future__ import annotations
