"""Where the vectors of an index are: in this process, or elsewhere.

``products`` multiplies, ``holding`` says what an index asks of whoever has its vectors. ``held``
has them in memory, as floats; ``elsewhere`` has a few bytes of each here, and asks a port.

Products of quantised vectors are whole numbers that float32 holds (see `mnemic.kernel.vectors`), so
both give the same to the last bit, and nobody who asks an index can tell which it is.
"""
