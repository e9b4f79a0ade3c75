"""Copying a log byte for byte, and verifying the copy."""

from __future__ import annotations
