"""The OpenAPI 3.1 document."""

from __future__ import annotations
