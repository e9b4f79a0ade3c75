"""Loader of the rules of mnemic and their worked examples from the TOML files of this package.

A table is one file of rules on one subject. A rule has a statement and its source; each of its rows
is one example with an id, a source and the reason for the row:

    [edge-score]
    says = "0.55·max(0, cosine) + ..."
    source = "DOMAIN 4"

    [[edge-score.row]]
    id = "perfect-match"
    source = "seed 000 section 11"
    why = "All four signals at their most."
    given = { cosine = 1.0, ... }
    then = { score = 1.0 }

A number in ``then`` is exact to the nano-unit, unless its row has ``digits``: then the source
printed that many decimals, and the result must round to them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from importlib import resources
from typing import Any

import attrs
from attrs import field, frozen

from mnemic.kernel.numeric.arithmetic import NANO
from mnemic.kernel.policy import POLICIES, Policy

TABLES = (
    "abstention",
    "backtests",
    "clock",
    "connecting",
    "decay",
    "deliberation",
    "edges",
    "feedback",
    "frontier",
    "learning",
    "ledger",
    "lifecycle",
    "log",
    "policy",
    "recall",
    "refusals",
    "retention",
    "reverting",
    "same",
    "scoring",
    "transitions",
)


def _text(_: object, attribute: attrs.Attribute[Any], value: object) -> None:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{attribute.name} must be a text that is not empty, got {value!r}")


@frozen(kw_only=True, str=False)
class Row:
    """One worked example."""

    rule: str
    """``table.rule``, such as ``edges.edge-score``."""
    id: str = field(validator=_text)
    """``table.rule/example``; no two rows share one."""
    source: str = field(validator=_text)
    why: str = field(validator=_text)
    given: Mapping[str, Any]
    then: Mapping[str, Any] = field(validator=attrs.validators.min_len(1))
    digits: int | None = None
    """Decimals that the source printed; None if the numbers are exact."""

    def __str__(self) -> str:
        return self.id

    @property
    def policy(self) -> Policy:
        """The policy of the row.

        ``given.policy`` names it (the default, if missing), and ``given.with`` replaces single
        fields of it.
        """
        policy = POLICIES[self.given.get("policy", "mnemic-1")]
        return attrs.evolve(policy, **self.given.get("with", {}))

    def tells(self, name: str, nanos: int) -> bool:
        """Return whether a result in nano-units equals the row's value for *name*."""
        said = Decimal(str(self.then[name]))
        found = Decimal(nanos) / NANO
        if self.digits is None:
            return found == said
        step = Decimal(1).scaleb(-self.digits)
        return found.quantize(step, ROUND_HALF_UP) == said.quantize(step, ROUND_HALF_UP)


@frozen(kw_only=True)
class Rule:
    """A statement with its examples."""

    id: str = field(validator=_text)
    """``table.rule``."""
    says: str = field(validator=_text)
    source: str = field(validator=_text)
    rows: tuple[Row, ...] = field(validator=attrs.validators.min_len(1))


@cache
def table(name: str) -> tuple[Rule, ...]:
    """Return the rules of the table called *name*, in the order of the file.

    Raises:
        ValueError: A rule without a row, a row without an id, source, reason or result, two rows
            of one id, or an unknown key. The message names the place.
    """
    text = resources.files("mnemic.specs").joinpath(f"{name}.toml").read_text(encoding="utf-8")
    return parse(name, text)


def parse(name: str, text: str) -> tuple[Rule, ...]:
    """Return the rules in *text*, the table called *name*; see `table`."""
    read = tuple(_rule(f"{name}.{key}", body) for key, body in tomllib.loads(text).items())
    ids = [row.id for rule in read for row in rule.rows]
    twice = sorted({one for one in ids if ids.count(one) > 1})
    if twice:
        raise ValueError(f"two rows are called {', '.join(twice)}")
    return read


@cache
def rules() -> Mapping[str, Rule]:
    """Return every rule of every table by its id."""
    return {rule.id: rule for name in TABLES for rule in table(name)}


def rows(rule: str) -> tuple[Row, ...]:
    """Return the examples of the rule called *rule*.

    Raises:
        KeyError: No table has a rule of this name.
    """
    return rules()[rule].rows


def _rule(rule: str, body: dict[str, Any]) -> Rule:
    examples = tuple(_row(rule, row) for row in body.pop("row", ()))
    try:
        return Rule(id=rule, rows=examples, **body)
    except (TypeError, ValueError) as error:
        raise ValueError(f"rule {rule}: {error}") from error


def _row(rule: str, body: dict[str, Any]) -> Row:
    name = body.pop("id", "")
    try:
        return Row(rule=rule, id=f"{rule}/{name}" if name else "", **body)
    except (TypeError, ValueError) as error:
        raise ValueError(f"row {name!r} of rule {rule}: {error}") from error
