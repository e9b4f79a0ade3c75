"""Middleware of every request: ids, logging, authentication, tracing."""

from __future__ import annotations
