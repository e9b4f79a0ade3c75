"""When each version of the log was recorded, and the settings in force at it."""

from __future__ import annotations
