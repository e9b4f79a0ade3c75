"""The point of a view, and products precomputed for it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from mnemic.kernel.events import EmbedderIdentity
from mnemic.kernel.numeric.arithmetic import MICROS_PER_HOUR
from mnemic.kernel.values import Value


@frozen
class Point(Value):
    """The point of a view: version, active time and instant."""

    version: int
    active_us: int
    """Decay is evaluated here."""
    instant_us: int
    """Ages are evaluated here."""

    @property
    def hour(self) -> float:
        """Active hours."""
        return self.active_us / MICROS_PER_HOUR


@frozen(eq=False)
class Products:
    """Products of questions with the first vectors of an index, computed in one batch."""

    embedder: EmbedderIdentity | None
    of: Mapping[bytes, NDArray[np.float32]]
    """By the bytes of a question's vector."""
