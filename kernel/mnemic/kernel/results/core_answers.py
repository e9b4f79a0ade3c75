"""Answers of a recall without the details that explain it: what a caller acts on.

A core answer is a recall's result with fewer fields. Reading one that was left out raises an error
that says how to get it, so that it is never mistaken for an empty one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final, NoReturn, TypeAlias

import attrs
from attrs import frozen

from mnemic.kernel.errors import DetailLeftOut
from mnemic.kernel.results.blocks import Block
from mnemic.kernel.results.recalls import Detail, RecallResult, ScoredBlock

TEXT_FIELDS: Final = (
    "tags",
    "author",
    "created_at",
    "valid_from",
    "valid_until",
    "validity",
    "zone",
    "source",
    "actor",
)
"""Fields that say where a text comes from and when it holds."""

FieldTransformer: TypeAlias = Callable[
    [type, list["attrs.Attribute[Any]"]], list["attrs.Attribute[Any]"]
]


def _only(*names: str) -> FieldTransformer:
    """Return the transformer that leaves a class these fields of its own and its base."""

    def transform(_: type, found: list[attrs.Attribute[Any]]) -> list[attrs.Attribute[Any]]:
        by_name = {each.name: each for each in found}
        return [by_name[name] for name in names]

    return transform


def _refuse(of: type, name: str) -> NoReturn:
    """Raise the error of an attribute that an answer of this class does not have.

    Raises:
        DetailLeftOut: The complete answer has it.
        AttributeError: No answer has it.
    """
    if name in attrs.fields_dict(of.__mro__[1]):
        raise DetailLeftOut(f"{name} is a detail, which an answer with detail='core' leaves out")
    raise AttributeError(f"{of.__name__!r} object has no attribute {name!r}")


@frozen(
    kw_only=True,
    str=False,
    field_transformer=_only("id", "content", "lost", *TEXT_FIELDS, "status"),
)
class CoreBlock(Block):
    """One block, without its history and scores."""

    def __getattr__(self, name: str) -> NoReturn:
        _refuse(type(self), name)


@frozen(
    kw_only=True,
    str=False,
    field_transformer=_only("id", "content", *TEXT_FIELDS, "composite_score"),
)
class CoreScoredBlock(ScoredBlock):
    """One returned block and its score, without the signals that make it up."""

    def __getattr__(self, name: str) -> NoReturn:
        _refuse(type(self), name)


@frozen(
    kw_only=True,
    str=False,
    field_transformer=_only(
        "blocks",
        "counterpoints",
        "contradictions",
        "text",
        "answerable",
        "verdict",
        "decision_id",
        "version",
        "retriever",
        "waiting",
        "warnings",
        "suggested_connections",
    ),
)
class CoreRecallResult(RecallResult):
    """Answer of a recall: the blocks, whether they answer the question, and a text for a prompt."""

    blocks: tuple[CoreScoredBlock, ...]
    counterpoints: tuple[CoreBlock, ...] = ()

    def __getattr__(self, name: str) -> NoReturn:
        _refuse(type(self), name)


def detailed(answer: RecallResult, detail: Detail) -> RecallResult:
    """Return an answer with as much detail as requested."""
    if detail == "full":
        return answer
    found: RecallResult = _core(
        CoreRecallResult,
        answer,
        blocks=_each(CoreScoredBlock, answer.blocks),
        counterpoints=_each(CoreBlock, answer.counterpoints),
    )
    return found


def _each(of: type[attrs.AttrsInstance], found: Sequence[object]) -> tuple[Any, ...]:
    return tuple(_core(of, each) for each in found)


def _core(of: type[attrs.AttrsInstance], complete: object, **given: Any) -> Any:
    """Return the core of a value: an instance of *of*, with its values for all fields not given."""
    return of(
        **{name: getattr(complete, name) for name in _names(of) if name not in given}, **given
    )


@cache
def _names(of: type[attrs.AttrsInstance]) -> tuple[str, ...]:
    return tuple(attrs.fields_dict(of))
