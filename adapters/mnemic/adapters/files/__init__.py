"""Files that appear complete or not at all, and temporary folders that are cleaned up."""

from __future__ import annotations
