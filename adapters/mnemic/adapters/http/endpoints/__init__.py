"""The endpoints: operations, spaces, event streams, transfer, health and metrics."""

from __future__ import annotations
