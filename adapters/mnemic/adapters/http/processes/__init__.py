"""Several worker processes behind one address."""

from __future__ import annotations
