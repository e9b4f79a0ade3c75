"""Where mnemic meets the world: stores, embedders, clocks, the wire format and the interfaces.

Most programs need one name from here: ``from mnemic.adapters.inprocess import Memory``.
Slow libraries are imported by the module that uses them, never by this one.
"""
