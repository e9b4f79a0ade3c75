"""The domain model of mnemic: values, events, decisions and the arithmetic behind them.

Everything here is a pure function of its arguments or a frozen value. Nothing in this package
touches a file, a clock, a random source or a thread; time, ids and salts arrive as arguments.
Import the module you need (``mnemic.kernel.events``): this one loads none of them.
"""
