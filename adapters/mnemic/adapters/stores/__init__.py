"""Event stores: ``memory`` for tests and trials, ``sqlite`` for a single file, ``postgres``.

``opening.open_store`` accepts what a host configures as its store: a path, ``":memory:"``, or the
address of a server. All stores pass ``mnemic.specs.contracts.StoreContract``. A store handles bytes
and knows neither events nor the codec.

``logs`` holds the building blocks of a log: an append is an ``Entry``, ``chain`` links and checks
its bytes, and ``write_lock`` queues the writers of one file.
"""
