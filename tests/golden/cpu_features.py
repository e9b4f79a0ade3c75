"""Print the SIMD levels that numpy uses on this machine above its compiled baseline.

The names go into ``NPY_DISABLE_CPU_FEATURES``, so that the golden tests can run once more
without them. numpy warns about a name that it cannot dispatch and refuses one of its baseline,
so the names come from numpy: "found" lists those that can be dispatched *and* are present here.
Prints an empty line if there are none.
"""

from __future__ import annotations

import numpy as np


def features_above_baseline() -> tuple[str, ...]:
    """Return the names of the SIMD levels in use that can be switched off."""
    simd = np.show_config(mode="dicts")["SIMD Extensions"]
    return tuple(simd.get("found", ()))


if __name__ == "__main__":
    print(" ".join(features_above_baseline()))
