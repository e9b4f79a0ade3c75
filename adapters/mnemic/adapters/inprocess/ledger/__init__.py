"""The composition ledger in the form of the ``composed_graph`` tool."""

from __future__ import annotations
