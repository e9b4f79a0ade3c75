"""HTTP requests and responses, independent of any endpoint."""

from __future__ import annotations
