"""The wire format: what an event looks like in a log, and how it is read back, however old.

``translation`` holds the ``Codec``, the one name that stores need. Behind it: ``registry`` (names
of events), ``upcasting`` (older versions), ``envelope`` (the line around an event), ``conversion``
(fields), ``packing`` (numbers of a recall), ``marks`` and ``sealing`` (what may be forgotten). Most
records are read by ``shortcuts``: ``readers`` written per class, which fill ``drafts``.
"""

from __future__ import annotations

from mnemic.adapters.codec.translation import Codec

__all__ = ["Codec"]
