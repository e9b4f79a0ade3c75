"""What every request passes: ids, logging, authentication, tracing."""

from __future__ import annotations
