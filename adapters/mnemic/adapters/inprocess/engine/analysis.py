"""Calls to an analyst, with validation and a time limit. A failure never blocks a promotion."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import copy_context
from functools import partial
from itertools import islice
from threading import Lock, Thread
from typing import Any, Final, Generic, TypeVar

from attrs import evolve

from mnemic.kernel.errors import Refused
from mnemic.kernel.policy import Policy
from mnemic.kernel.ports import Analysis, Analyst, Judge, Passage
from mnemic.kernel.validation import checked_content, checked_tags, unit_interval

T = TypeVar("T")

TIMEOUT_S: Final = 30.0
"""How long an analyst may take over one chunk, unless the host says otherwise."""
OVERDUE_MAX: Final = 2
"""Overdue calls that may still run when the next one is made. Beyond that no call is made."""

Verdict = tuple[Analysis | None, str]
"""An analysis and ``done``, or None and ``none`` (there is no analyst) or ``failed``."""


def analyse(analyst: Analyst | None, passages: Sequence[Passage], policy: Policy) -> list[Verdict]:
    """Return one verdict per passage; an error of the analyst is the verdict ``failed``.

    Args:
        analyst: None: every verdict is ``none``.
        passages: The texts.
        policy: Limits of what an analysis may contain.
    """
    if analyst is None:
        return [(None, "none")] * len(passages)
    try:
        found: list[object] = list(analyst.analyse(passages))
    except Exception:  # noqa: BLE001 - a model may fail in any way
        found = []
    if len(found) != len(passages):
        return [(None, "failed")] * len(passages)
    return [_verdict(each, policy) for each in found]


def can_judge(analyst: Analyst | None) -> bool:
    """Return whether an analyst implements ``mnemic.kernel.ports.Judge``."""
    behind = analyst.behind if isinstance(analyst, TimedAnalyst) else analyst
    return callable(getattr(behind, "contradicts", None))


def judge(analyst: Analyst | None, pairs: Sequence[tuple[Passage, Passage]]) -> list[bool | None]:
    """Return one verdict per pair: whether both texts can be true; None where it is unknown."""
    if not pairs or not can_judge(analyst):
        return [None] * len(pairs)
    try:
        found: list[object] = list(analyst.contradicts(pairs))  # type: ignore[union-attr]
    except Exception:  # noqa: BLE001 - a model may fail in any way
        found = []
    if len(found) != len(pairs):
        return [None] * len(pairs)
    return [each if isinstance(each, bool) else None for each in found]


def _verdict(given: object, policy: Policy) -> Verdict:
    """Return an analysis checked against the limits of a lesson."""
    if not isinstance(given, Analysis):
        return None, "failed"
    try:
        tags = checked_tags(given.tags, policy)
        if given.alignment is not None:
            unit_interval("alignment", given.alignment)
        if given.summary is not None:
            checked_content(given.summary, policy)
    except Refused:
        return None, "failed"
    return evolve(given, tags=tags), "done"


class TimedAnalyst:
    """Analyst wrapper with a time limit per call.

    A thread cannot be stopped from outside. So each call has a thread of its own, which is
    abandoned when the time is up; it is a daemon thread, and delays neither closing nor exit.
    """

    def __init__(self, behind: Analyst, timeout_s: float) -> None:
        """Wrap *behind*, and wait at most *timeout_s* seconds, > 0, for a whole chunk."""
        self.name = behind.name
        self.behind = behind
        self._timeout_s = timeout_s
        self._overdue: list[TimedCall[Any]] = []
        self._overdue_lock = Lock()

    def analyse(self, passages: Sequence[Passage]) -> Sequence[Analysis | None]:
        """Return the analyses that arrived in time; None for each other passage.

        Raises:
            TimeoutError: Too many earlier calls are still running, so no call was made.
        """
        return self._in_time(partial(self.behind.analyse, passages), len(passages))

    def contradicts(self, pairs: Sequence[tuple[Passage, Passage]]) -> Sequence[bool | None]:
        """Return the verdicts that arrived in time, of an analyst that judges pairs.

        Raises:
            TimeoutError: See ``analyse``.
        """
        judge: Judge = self.behind  # type: ignore[assignment] # called only if it is one
        return self._in_time(partial(judge.contradicts, pairs), len(pairs))

    def _in_time(self, ask: Callable[[], Iterable[T]], count: int) -> Sequence[T | None]:
        with self._overdue_lock:
            self._overdue = [call for call in self._overdue if call.is_running]
            if len(self._overdue) >= OVERDUE_MAX:
                raise TimeoutError(f"calls to the analyst {self.name} for earlier chunks still run")
        call = TimedCall(ask, count)
        if call.wait(self._timeout_s):
            return call.found
        with self._overdue_lock:
            self._overdue.append(call)
        return _padded(call.found, count)


class TimedCall(Generic[T]):
    """One call to a model, on its own thread, which is abandoned when its time is up.

    Args:
        ask: Makes the call.
        count: How many answers are expected.
    """

    def __init__(self, ask: Callable[[], Iterable[T]], count: int) -> None:
        self._ask = ask
        self._count = count
        self._is_abandoned = False
        self.found: list[T | None] = []
        # The host's context variables (a trace, say) are passed on.
        self._thread = Thread(
            target=copy_context().run, args=(self._work,), name="mnemic-model", daemon=True
        )
        self._thread.start()

    @property
    def is_running(self) -> bool:
        return self._thread.is_alive()

    def wait(self, timeout_s: float) -> bool:
        """Return whether the analyst finished in time; if not, abandon the call."""
        self._thread.join(timeout_s)
        self._is_abandoned = self._thread.is_alive()
        return not self._is_abandoned

    def _work(self) -> None:
        try:
            for each in self._answers():
                if self._is_abandoned:
                    return
                self.found.append(each)
        except BaseException:  # noqa: BLE001 - there is no caller left to raise it to
            self.found = _padded(self.found, self._count)

    def _answers(self) -> Iterator[T]:
        """Yield the analyst's answers, up to one more than expected: the count is then wrong."""
        yield from islice(self._ask(), self._count + 1)


def _padded(found: Sequence[T | None], count: int) -> list[T | None]:
    """Return *found* with None for what is missing."""
    return [*found, *[None] * (count - len(found))]
