"""Exports: a log as a file of CloudEvents, with its vectors in a second file."""

from __future__ import annotations
