"""Interfaces of other frameworks on a memory: translation only, see docs/integrations.md.

Each integration is a package with an extra of its own, imported when it is asked for. They keep
what a framework calls a key in records (``records``), so that every change is a revision which can
be seen and taken back.
"""
