"""What in a change may be there to fool its graders: looked at as text, and never run."""

from __future__ import annotations
