"""Decisions: state and a command in, events out.

Rules of this package:

1. ``decide_…(reading, …) -> tuple[Event, ...]`` (or events with what the answer needs besides).
   It refuses by raising, returns no event when it is already so, and changes nothing.
2. Time, ids and vectors are arguments. Nothing here reads a clock or calls a model.
3. Whatever was displaced, skipped, refused or out of room is in the event.
"""
