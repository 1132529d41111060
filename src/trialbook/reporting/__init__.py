"""Rows, tables and reports computed from the ledger only."""

from __future__ import annotations
