"""Routing: the HTTP method and path of each operation."""

from __future__ import annotations
