"""Decision of quarantine: take blocks out of recall by one event, or release them."""

from __future__ import annotations

from collections.abc import Iterable

from mnemic.kernel.decisions.connecting import remark_text
from mnemic.kernel.events import BlocksQuarantined
from mnemic.kernel.model.texts import Remark
from mnemic.kernel.reading import Reading


def decide_quarantine(
    reading: Reading, numbers: Iterable[int], *, release: bool, reason: str | None
) -> BlocksQuarantined | None:
    """Put blocks into quarantine or release them; None if all of them are already so.

    Args:
        reading: The state before the command.
        numbers: The selected blocks.
        release: Whether to release them.
        reason: The caller's reason.

    Raises:
        NoteTooLong, FieldRefused: The reason is too long, or not text.
    """
    words = remark_text("reason", reason, reading.policy)
    changed = [number for number in numbers if reading.is_quarantined(number) == release]
    if not changed:
        return None
    return BlocksQuarantined(
        block_ids=tuple(sorted(map(reading.id, changed))),
        released=release,
        reason=None if words is None else Remark(text=words),
    )
