"""The read side of mnemic: projections that turn the log into state that can be queried.

A projection has ``apply(event)``, a rebuild from the first event, and queries. It decides
nothing and performs no I/O, so the same events always give the same answers.
Import the module you need (``mnemic.projections.view``): this one loads none of them.
"""
