"""Commands that start servers and manage access to them."""

from __future__ import annotations
