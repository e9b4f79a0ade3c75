"""How a log leaves its store and comes back: copies, exports, and receipts checked against them.

``copying`` moves a log's beginning into another log, byte for byte. ``manifest``, ``lines`` and
``files`` are the form of an export; ``exporting`` writes it, ``reading`` walks it and believes
nothing. ``receipts`` makes receipts and compares them. Everything here works on logs and files;
the verbs on an open memory stand in ``inprocess.exchange_verbs``.

What hosts do with a store as a whole has no verb: ``migrating.migrate`` into another store,
``backups.backup``, ``backups.check`` and ``backups.restore``, ``salvage.salvage`` of a damaged one.
``following`` and ``soundness`` are what these share, ``outcomes`` is what they answer, and in
``asides`` all of it stands until it is whole.
"""

from __future__ import annotations
