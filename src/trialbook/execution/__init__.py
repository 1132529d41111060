"""One trial: snapshot, workspace, agent process, change. Knows no ledger."""

from __future__ import annotations
