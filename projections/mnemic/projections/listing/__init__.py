"""Queries that list blocks, edges, compositions and changes of a view."""

from __future__ import annotations
