"""Reference model: the contract as the simplest program, with dicts, loops and whole numbers.

It is slow on purpose, and written from the contract, not from the kernel. It uses only the kernel's
vocabulary: events, payloads, policies (as values) and the scalar ``exp``, ``ln`` and ``nano`` of
its arithmetic. The fast implementation must agree with it, value for value.

``clock``      active time
``scoring``    signals, scores and rates
``fold``       the state after replaying a log
``decisions``  the expected decision in such a state
``recall``     the ranking and answer of a recall, on ``relevance``, ``threads`` and ``dates``
``statements`` which texts make the same statement
``classic``    the frontier as clients of the composition ledger expect it
"""
