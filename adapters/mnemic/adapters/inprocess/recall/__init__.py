"""Recall, explanation and references, on the live state or a past one."""

from __future__ import annotations
