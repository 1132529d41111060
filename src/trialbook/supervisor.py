"""The script that is the parent of one untrusted process (``python -I -S -B supervisor.py``).

`trialbook.process` has one per process. It is a subreaper: whatever the process starts, daemons
in sessions of their own included, ends up among its children, and it does not report before it has
none left.

Standard input is the control pipe: the request, then the byte ``c`` to cancel. Its end means that
the runner is gone; everything is killed then. Standard output is for the report alone.

With the argument ``serve`` it forks such parents on request, which takes a tenth of the time: see
`trialbook.supervision.forkserver`.

Without Linux's ``prctl`` and ``/proc`` only the process group can be ended: what moved to a session
of its own gets away.
"""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    # An isolated interpreter knows the standard library only. Ours comes last: it hides nothing.
    sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120

    if sys.argv[1:] == ["serve"]:
        from trialbook.supervision.forkserver import serve

        serve()
    else:
        from trialbook.supervision.watch import run

        run(os.getppid())
    # There is nothing to tidy up, and somebody waits.
    os._exit(0)
