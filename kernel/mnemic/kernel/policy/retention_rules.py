"""Rules of retention: how long, and how many, blocks of some kind are kept active.

``curate`` carries them out and records which block was archived by which rule. A policy has none
unless they are given.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from attrs import field, frozen

from mnemic.kernel.errors import FieldRefused, PolicyRefused
from mnemic.kernel.model.filters import Where
from mnemic.kernel.numeric.arithmetic import MICROS_PER_DAY, MICROS_PER_HOUR
from mnemic.kernel.policy.ranges import count, one_of, or_none, within, word
from mnemic.kernel.values import Value

PER = ("space", "user", "agent", "run", "thread", "author", "category", "zone")
"""What the most blocks of a rule may be counted per."""
RULES_MAX = 100
FORM = 'Write a list like [{"name": "chat", "where": {"category": "message"}, "ttl_days": 30}].'


def canonical(where: Any) -> dict[str, Any]:
    """Return a filter in the form that is recorded.

    Raises:
        PolicyRefused: It is not a filter.
    """
    try:
        return Where.parse(where).plain()
    except FieldRefused as error:
        raise PolicyRefused(
            f"retention: {error}", recovery=error.recovery, field="retention"
        ) from error


@frozen(kw_only=True)
class RetentionRule(Value):
    """A limit on the age and the number of the blocks that a filter finds.

    Raises:
        PolicyRefused: It limits nothing, or a value is out of range.
    """

    name: str = field(validator=word)
    """By which the log names it."""
    where: Mapping[str, Any] = field(factory=dict, converter=canonical, hash=False)
    """Which blocks it is about: a filter, as for ``recall``; without a condition, all."""
    ttl_days: float | None = field(default=None, validator=or_none(within(1e-6, 1e5)))
    """Days by the calendar, from when a block was last said (learned or restated) to its end."""
    ttl_active_hours: float | None = field(default=None, validator=or_none(within(1e-6, 1e6)))
    """The same in active hours, which pass inside sessions only."""
    most: int | None = field(default=None, validator=or_none(count()))
    """How many are kept: those that were said last."""
    per: str = field(default="space", validator=one_of(*PER))
    """What ``most`` is counted for: the whole space, or each user, agent, run, thread, author,
    category or zone. Blocks without one are counted together."""

    def __attrs_post_init__(self) -> None:
        if self.ttl_days is None and self.ttl_active_hours is None and self.most is None:
            raise PolicyRefused(
                f"the retention rule {self.name!r} limits nothing",
                recovery="Give it ttl_days, ttl_active_hours or most.",
                field="retention",
            )

    @cached_property
    def filter(self) -> Where:
        """The filter."""
        return Where.parse(self.where)

    @cached_property
    def ttl_us(self) -> int | None:
        """The greatest age by the calendar, microseconds."""
        days = self.ttl_days
        return None if days is None else round(days * MICROS_PER_DAY)

    @cached_property
    def ttl_active_us(self) -> int | None:
        """The greatest age by active time, microseconds."""
        hours = self.ttl_active_hours
        return None if hours is None else round(hours * MICROS_PER_HOUR)


def rules_of(value: Any) -> tuple[RetentionRule, ...]:
    """Return rules of retention, given as such or as their fields.

    Raises:
        PolicyRefused: It is not a list of rules, there are too many, or two share a name.
    """
    if isinstance(value, str | bytes | Mapping):
        raise PolicyRefused(
            f"not a list of rules: {value!r:.100}", recovery=FORM, field="retention"
        )
    try:
        rules = tuple(
            each if isinstance(each, RetentionRule) else RetentionRule(**each) for each in value
        )
    except TypeError as error:
        raise PolicyRefused(
            f"not a list of retention rules: {error}", recovery=FORM, field="retention"
        ) from error
    names = [rule.name for rule in rules]
    if len(rules) > RULES_MAX or len({*names}) != len(names):
        raise PolicyRefused(
            f"retention has {len(rules)} rules: at most {RULES_MAX}, of different names",
            field="retention",
        )
    return rules
