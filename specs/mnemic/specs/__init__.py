"""The specification of mnemic, in a form that both people and tests can read.

Rules with worked examples (TOML), a slow and plain reference model, hypothesis strategies, and
the contracts that every store and every interface has to pass. Hosts that embed the kernel and
authors of adapters can run these against their own code; nothing at run time depends on them.
"""
