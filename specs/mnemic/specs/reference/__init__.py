"""The contract as the plainest program that yields it: dicts, loops and whole numbers.

Slow on purpose, and written from the contract, not from the kernel. Of the kernel it borrows the
words alone: events, payloads, policies (as values) and the scalar ``exp``, ``ln`` and ``nano`` of
its arithmetic. Whatever runs fast must agree with it, value for value.

``clock``      active time
``scoring``    signals, scores and rates
``fold``       the state that a log stands for
``decisions``  what a decision must come to in such a state
``recall``     what a recall ranks and returns, on ``relevance``, ``conversation`` and ``dates``
``classic``    the frontier as clients of the composition ledger know it
"""
