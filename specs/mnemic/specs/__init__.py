"""What mnemic promises, in a form that both people and tests can read.

Rules with worked examples (TOML), a slow and plain reference model, hypothesis strategies, and
the contracts that every store and every door has to pass. Whoever embeds the kernel or writes an
adapter can run these against their own code; nothing in a running memory depends on them.
"""
