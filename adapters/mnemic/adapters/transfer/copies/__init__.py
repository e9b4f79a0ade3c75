"""The copy pipeline: records of a source, verified on their way into a log or a file."""

from __future__ import annotations
