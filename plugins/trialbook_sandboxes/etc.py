"""The few files of ``/etc`` that are made for a sandbox, so that nothing of the host's shows."""

from __future__ import annotations

from pathlib import Path

from trialbook_sandboxes.mounts import Mount
from trialbook_sandboxes.staging import Private

INNER_ID = 1000
"""The user and group that a sandbox's processes see themselves as, where it maps users."""

HOST_NAME = "sandbox"


def made_mounts(private: Private, *, uid: int, gid: int, home: str) -> list[Mount]:
    """Write the files into the private folder, and say where they go."""
    texts = {
        "passwd": (
            f"agent:x:{uid}:{gid}:agent:{home}:/bin/sh\n"
            "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
        ),
        "group": f"agent:x:{gid}:\nnogroup:x:65534:\n",
        "hosts": f"127.0.0.1 localhost {HOST_NAME}\n::1 localhost\n",
        "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
    }
    return [
        Mount(source=private.write(name, text), target=Path("/etc", name))
        for name, text in texts.items()
    ]
