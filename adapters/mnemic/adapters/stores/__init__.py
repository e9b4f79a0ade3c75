"""Where logs are kept: ``memory`` for tests and trials, ``sqlite`` for one file that stays.

Import the one you need: ``from mnemic.adapters.stores.sqlite import SQLiteStore``. Both pass
``mnemic.specs.contracts.StoreContract``. A store handles bytes: it knows neither events nor codec.

One append is an ``entry``; ``chain`` links and checks its bytes; ``recorder`` and ``connections``
are the SQLite tables and the way to them; ``locking`` queues writers; ``faults`` names what failed.
"""
