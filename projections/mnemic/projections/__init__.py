"""The read side of mnemic: folds that turn the log into something that can be asked.

A projection has ``apply(event)``, a rebuild from the first event, and queries. It decides
nothing and performs no I/O, so the same events always give the same answers.
Import the module you need (``mnemic.projections.views``): this one loads none of them.
"""
