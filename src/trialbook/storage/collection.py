"""Python's collector of cycles, held back while very many records are read.

Records are not made of cycles, and looking through all of them again and again takes longer than
reading them.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_collection() -> Iterator[None]:
    """No collection inside of the block, if there was one outside of it."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
