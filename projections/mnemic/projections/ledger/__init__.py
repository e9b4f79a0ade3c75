"""The composition ledger: which blocks were used together, and with what outcome."""

from __future__ import annotations
