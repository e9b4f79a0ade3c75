"""How a log leaves its store and comes back: copies, exports, and receipts checked against them.

``copying`` moves a log's beginning into another log, byte for byte. ``manifest``, ``lines`` and
``files`` are the form of an export; ``exporting`` writes it, ``reading`` walks it and believes
nothing. ``receipts`` makes receipts and compares them. Everything here works on logs and files;
the verbs on an open memory stand in ``inprocess.exchange_verbs``.
"""

from __future__ import annotations
