"""What keeps an untrusted process in bounds, on both sides of the control pipe.

The supervisor's side is the script `trialbook.supervisor` with `descendants`, `launch`, `output`
and `watch`: the standard library only, and little of it, since each process has one: forked by
`forkserver`, or started anew.
The runner's side is `trialbook.process` with `protocol`, `adoption` and `forked`.
"""

from __future__ import annotations
