"""The numbers of a recall in a few hundred characters.

A recall keeps its answer, its runners-up and the pairs it touched in the log for good. Most of
those numbers are small, alike or close to the one before, so they are laid out as columns, each
packed to the fewest bits that hold it, and the bytes written as base64. (Base85 would be 6 %
shorter, but the standard library decodes it 20 times slower.)

Rules of this module:

1. Lossless for every recall whose columns hold -1 to 2**63 - 2 and whose rows have equally many
   signals, at most 70.
2. One recall has one packed form: equal numbers are equal bytes.
3. ``unpack`` refuses with ``ValueError``; the codec, which knows the version, adds it.

A *count* is a varint (7 bits a byte, low first); a *signed* number is one too, as 2n or -2n - 1.
A *column* of no values is nothing; else it is one byte with a bit width and two flags, and

* plain: every value in so many bits, filled from the low end and up to a whole byte;
* with ``STEPS``: the first value as a varint, then how far each next one is below the one before.

``RAISED`` says that all values were raised by one, which allows for -1. The layout:

* 7 counts: rows, runners-up, signals per row, staged, linked, refreshed, others
* 3 signed: read_version, read_us, asked_us
* column: blocks, of rows and then of runners-up
* column: scores, in the same order
* column: via
* varint: a set bit for each signal that is not the same in all rows, the first signal lowest
* column: the values of the signals that are the same
* column: the values of those that are not, signal by signal
* column: others, that is numbers in pairs that are no block of a row
* column: both ends of each pair, as positions in the blocks of rows and then others
"""

from __future__ import annotations

import binascii
from collections.abc import Sequence
from itertools import accumulate, chain, compress, pairwise
from operator import sub
from typing import Any, NamedTuple

from mnemic.kernel.events import Answer, AnswerRow, RecallRecorded, RunnerUp

PACKED = ("answer", "read_version", "read_us", "asked_us", "staged", "linked", "refreshed")
"""Fields of a recall that are packed together, instead of being stored in the body by name."""

COUNT_MAX = 1 << 20
"""Most values that a column may claim to hold: damage must not ask for all memory."""

STEPS = 0x80
RAISED = 0x40
WIDTH = 0x3F
"""Mask for the width in a column's first byte; the widest column has 63 bits."""

MORE = 0x80
"""Flag of a byte of a varint that is not its last."""
VARINT_BITS = 70
"""Ten bytes hold 64 bits with a sign."""

Pairs = tuple[tuple[int, int], ...]


class Returned(NamedTuple):
    """The part of an ``Answer`` that a fold reads."""

    blocks: list[int]


def pack(recall: RecallRecorded) -> str:
    """Return the numbers of *recall* as one line of base64 without padding.

    Raises:
        ValueError: A number does not fit a column, or rows differ in their signals.
    """
    rows, runners = recall.answer.rows, recall.answer.runners_up
    groups = (recall.staged, recall.linked, recall.refreshed)
    blocks = [row.block for row in rows]
    signals = list(zip(*[row.signals for row in rows], strict=True))
    ends = list(chain.from_iterable(chain.from_iterable(groups)))
    others = sorted(set(ends).difference(blocks))
    counts = (len(rows), len(runners), len(signals), *map(len, groups), len(others))
    if max(counts) > COUNT_MAX:
        raise ValueError(f"a recall holds {max(counts)} numbers of a kind, more than {COUNT_MAX}")
    out = bytearray()
    for count in counts:
        _put_varint(out, count)
    for number in (recall.read_version, recall.read_us, recall.asked_us):
        _put_varint(out, 2 * number if number >= 0 else -2 * number - 1)
    _put_column(out, blocks + [runner.block for runner in runners])
    _put_column(out, [row.score for row in rows] + [runner.score for runner in runners])
    _put_column(out, [row.via for row in rows])
    _put_signals(out, signals)
    _put_column(out, others)
    # Of equal blocks the first position represents all: a dict keeps the last it is given.
    position = {number: at for at, number in reversed(list(enumerate(blocks + others)))}
    _put_column(out, [position[end] for end in ends])
    return binascii.b2a_base64(out, newline=False).rstrip(b"=").decode("ascii")


def unpack(packed: str, *, to_fold: bool = False) -> dict[str, Any]:
    """Return the packed fields of a recall, by name.

    Args:
        packed: From ``pack``.
        to_fold: Whether the answer is ``Returned``, which takes half of the time.

    Raises:
        ValueError: *packed* is damaged, in any part.
    """
    padded = packed + "=" * (-len(packed) % 4)
    try:
        return _fields(binascii.a2b_base64(padded, strict_mode=True), to_fold=to_fold)
    except IndexError as error:
        raise ValueError("the numbers of a recall end too early") from error


def _fields(data: bytes, *, to_fold: bool) -> dict[str, Any]:
    at = 0
    heads: list[int] = []
    for _ in range(10):
        number, at = _varint(data, at)
        heads.append(number)
    row_count, runner_count, signal_count, *group_counts, other_count = heads[:7]
    if max(heads[:7]) > COUNT_MAX:
        raise ValueError(f"a recall claims {max(heads[:7])} numbers, more than {COUNT_MAX}")
    blocks, at = _column(data, at, row_count + runner_count)
    answer: Answer | Returned
    if to_fold:
        at = _end(data, at, row_count + runner_count)
        at = _end(data, at, row_count)
        same_count, value_count, _, at = _varying(data, at, signal_count, row_count)
        at = _end(data, _end(data, at, same_count), value_count)
        answer = Returned(blocks[:row_count])
    else:
        scores, at = _column(data, at, row_count + runner_count)
        via, at = _column(data, at, row_count)
        signals, at = _signals(data, at, signal_count, row_count)
        answer = Answer(
            rows=tuple(map(AnswerRow, blocks, scores, signals, via)),
            runners_up=tuple(map(RunnerUp, blocks[row_count:], scores[row_count:])),
        )
    others, at = _column(data, at, other_count)
    positions, at = _column(data, at, 2 * sum(group_counts))
    if at != len(data):
        raise ValueError("the numbers of a recall do not end where they should")
    moments = (number // 2 if number % 2 == 0 else -(number // 2) - 1 for number in heads[7:])
    groups = _groups(blocks[:row_count] + others, positions, group_counts)
    return dict(zip(PACKED, (answer, *moments, *groups), strict=True))


def _groups(known: list[int], positions: list[int], counts: list[int]) -> list[Pairs]:
    if -1 in positions:
        raise ValueError("a pair of a recall names a block before the first")
    ends = [known[position] for position in positions]
    pairs = tuple(zip(ends[::2], ends[1::2], strict=True))
    stops = list(accumulate(counts, initial=0))
    return [pairs[start:stop] for start, stop in pairwise(stops)]


# --- signals ----------------------------------------------------------------------------------


def _put_signals(out: bytearray, signals: Sequence[tuple[int, ...]]) -> None:
    varying = [len(set(signal)) > 1 for signal in signals]
    _put_varint(out, sum([varies << at for at, varies in enumerate(varying)]))
    _put_column(out, [signal[0] for signal in signals if len(set(signal)) == 1])
    _put_column(out, [value for signal in compress(signals, varying) for value in signal])


def _signals(
    data: bytes, at: int, count: int, row_count: int
) -> tuple[Sequence[tuple[int, ...]], int]:
    """Return the signals of each row, and the offset behind them."""
    same_count, value_count, varying, at = _varying(data, at, count, row_count)
    same, at = _column(data, at, same_count)
    values, at = _column(data, at, value_count)
    if not count:
        return [()] * row_count, at
    alike = iter(same)
    starts = iter(range(0, len(values), row_count))
    columns: list[list[int]] = []
    for signal in range(count):
        if varying >> signal & 1:
            start = next(starts)
            columns.append(values[start : start + row_count])
        else:
            columns.append([next(alike)] * row_count)
    return list(zip(*columns, strict=True)), at


def _varying(data: bytes, at: int, count: int, row_count: int) -> tuple[int, int, int, int]:
    """Return how many signals are the same, how many values the others have, and which they are."""
    varying, at = _varint(data, at)
    if varying >> count:
        raise ValueError("a recall has more signals than it says")
    varying_count = varying.bit_count()
    return count - varying_count, varying_count * row_count, varying, at


# --- columns and varints ----------------------------------------------------------------------

_GROUP = 64
"""Values that are shifted together: 64 of any width end at a whole byte."""


def _put_varint(out: bytearray, number: int) -> None:
    if number >> VARINT_BITS:
        raise ValueError(f"{number} does not fit a varint")
    while number >= MORE:
        out.append(number & 0x7F | MORE)
        number >>= 7
    out.append(number)


def _put_column(out: bytearray, values: Sequence[int]) -> None:
    if not values:
        return
    flag = 0
    if min(values) == -1:
        flag = RAISED
        values = [value + 1 for value in values]
    width = max(values).bit_length()
    if min(values) < 0 or width > WIDTH:
        raise ValueError(f"{min(values)} to {max(values)} does not fit a column")
    falls = list(map(sub, values, values[1:]))
    fall_width = max(falls, default=0).bit_length()
    first = bytearray()
    _put_varint(first, values[0])
    steps_size = len(first) + _size(len(falls), fall_width)
    if min(falls, default=0) < 0 or steps_size >= _size(len(values), width):
        out.append(flag | width)
        _put_bits(out, values, width)
    else:
        out.append(STEPS | flag | fall_width)
        out += first
        _put_bits(out, falls, fall_width)


def _put_bits(out: bytearray, values: Sequence[int], width: int) -> None:
    for start in range(0, len(values), _GROUP):
        group = values[start : start + _GROUP]
        number = 0
        for value in reversed(group):
            number = number << width | value
        out += number.to_bytes(_size(len(group), width), "little")


def _size(count: int, width: int) -> int:
    """Return the bytes that *count* values of *width* bits take."""
    return (count * width + 7) // 8


# Readers take the bytes and an offset, and return a value and the offset after it. A column that
# is cut short leaves an offset beyond the end, which the next read or the last check finds.


def _varint(data: bytes, at: int) -> tuple[int, int]:
    number = data[at]
    if number < MORE:
        return number, at + 1
    number ^= MORE
    for shift in range(7, VARINT_BITS, 7):
        at += 1
        byte = data[at]
        number |= (byte & 0x7F) << shift
        if byte < MORE:
            return number, at + 1
    raise ValueError("a number of a recall does not end")


def _column(data: bytes, at: int, count: int) -> tuple[list[int], int]:
    if not count:
        return [], at
    header = data[at]
    if header & STEPS:
        first, at = _varint(data, at + 1)
        falls, at = _bits(data, at, count - 1, header & WIDTH)
        values = list(accumulate(falls, sub, initial=first))
        if values[-1] < 0:
            raise ValueError("a column of a recall falls below its floor")
    else:
        values, at = _bits(data, at + 1, count, header & WIDTH)
    if header & RAISED:
        values = [value - 1 for value in values]
    return values, at


def _end(data: bytes, at: int, count: int) -> int:
    """Return the offset behind a column, after the checks of ``_column``."""
    if not count:
        return at
    header = data[at]
    if header & STEPS:
        return _column(data, at, count)[1]
    bits = count * (header & WIDTH)
    at += 1 + (bits + 7) // 8
    if bits % 8 and data[at - 1] >> bits % 8:
        raise _stray_bits()
    return at


def _stray_bits() -> ValueError:
    return ValueError("a column of a recall has stray bits behind its last value")


def _bits(data: bytes, at: int, count: int, width: int) -> tuple[list[int], int]:
    if not width:
        return [0] * count, at
    mask = (1 << width) - 1
    values: list[int] = []
    for start in range(0, count, _GROUP):
        bits = min(_GROUP, count - start) * width
        end = at + (bits + 7) // 8
        number = int.from_bytes(data[at:end], "little")
        if number >> bits:
            raise _stray_bits()
        values += [number >> shift & mask for shift in range(0, bits, width)]
        at = end
    return values, at
