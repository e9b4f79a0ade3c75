"""Where logs are kept: ``memory`` for tests and trials, ``sqlite`` for one file that stays.

``opening.open_store`` takes whatever a host calls its store: a path, ``":memory:"``, an address.
All stores pass ``mnemic.specs.contracts.StoreContract``. A store handles bytes: it knows neither
events nor codec.

One append is an ``entry``; ``chain`` links and checks its bytes; ``locking`` queues those who write
one file.
"""
