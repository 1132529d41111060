"""The ledger as commands that only read it see it: what was read before comes from the cache."""

from __future__ import annotations

from trialbook.cli.context import Context
from trialbook.storage.reader import Reader


def open_reader(context: Context) -> Reader:
    """The ledger of this invocation.

    Raises:
        UserError: there is no ledger here.
        EnvironmentProblem: it is in no repository.
    """
    return Reader.open(context.root(), cache=context.system.cache_folder())
