"""Decisions: pure functions from a state and a command to events.

Rules of this package:

1. ``decide_…(reading, …) -> tuple[Event, ...]`` (or events with further data for the result).
   It refuses by raising, returns no event if there is nothing to change, and modifies nothing.
2. Time, ids and vectors are arguments. Nothing here reads a clock or calls a model.
3. The event lists everything that was displaced, skipped, refused or deferred by a limit.
"""
