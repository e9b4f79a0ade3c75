"""The checks of ``mnemic doctor``: the environment, the store, and each space in it.

Each check yields findings and writes nothing, so that it can be run on a damaged store.
"""
