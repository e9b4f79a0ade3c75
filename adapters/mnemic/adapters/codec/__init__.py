"""The wire format: what an event looks like in a log, and how it is read back, however old.

``codec`` holds the ``Codec``, the only name that stores need. Behind it: ``registry`` (names of
events, and how older versions are read), ``envelope`` (the JSON object around an event),
``conversion`` (fields), ``packing`` (numbers of a recall), ``payload_positions`` and ``sealing``
(what may be erased). Most records are read by ``fast_decoding``: ``compiled_readers`` are generated
per class and construct values by ``fast_construction``.
"""

from __future__ import annotations

from mnemic.adapters.codec.codec import Codec

__all__ = ["Codec"]
