"""``Value`` compares, hashes and shows what attrs would."""

from __future__ import annotations

import ast
import pickle
from pathlib import Path

import attrs
import pytest
from attrs import field, frozen

from mnemic.kernel.values import Value

ROOT = Path(__file__).parents[2]


@frozen(kw_only=True)
class Point(Value):
    x: int
    y: tuple[int, ...] = ()
    secret: bytes = field(default=b"", repr=False)
    seen: int = field(default=0, eq=False)


@frozen(kw_only=True)
class Other(Value):
    x: int
    y: tuple[int, ...] = ()


@frozen
class Empty(Value):
    pass


@frozen
class Odd(Value):
    x: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Odd) and self.x % 2 == other.x % 2

    def __hash__(self) -> int:
        return self.x % 2

    def __repr__(self) -> str:
        return "odd" if self.x % 2 else "even"


def test_values_are_equal_if_the_class_and_all_compared_fields_are() -> None:
    assert Point(x=1, y=(2,), seen=3) == Point(x=1, y=(2,))
    assert Point(x=1) != Point(x=2)
    assert Point(x=1) != Other(x=1)
    assert Point(x=1) != 1
    assert Point(x=1).__eq__(Other(x=1)) is NotImplemented
    assert Empty() == Empty()


def test_equal_values_have_one_hash_and_others_another() -> None:
    assert {Point(x=1), Point(x=1, seen=2), Point(x=2), Other(x=1)} == {
        Point(x=1),
        Point(x=2),
        Other(x=1),
    }
    assert len({Point(x=1), Point(x=1, seen=2), Point(x=2), Other(x=1), Empty()}) == 4
    with pytest.raises(TypeError):
        hash(Point(x=1, y=[2]))  # type: ignore[arg-type]


def test_a_value_shows_its_fields() -> None:
    assert repr(Point(x=1, y=(2,), secret=b"x")) == "Point(x=1, y=(2,), seen=0)"
    assert repr(Empty()) == "Empty()"


def test_a_class_may_have_methods_of_its_own() -> None:
    assert (Odd(1), hash(Odd(1)), repr(Odd(2))) == (Odd(3), hash(Odd(3)), "even")


def test_values_are_frozen_and_can_be_copied() -> None:
    point = Point(x=1)
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        point.x = 2  # type: ignore[misc]
    assert attrs.evolve(point, x=2) == Point(x=2)
    assert pickle.loads(pickle.dumps(point)) == point  # noqa: S301 - our own bytes
    assert not hasattr(point, "__dict__")


def test_frozen_classes_of_kernel_and_projections_are_values() -> None:
    """All but those of ``kernel.numeric``, which ``Value`` must not be imported by."""
    found = {
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for layer in ("kernel", "projections")
        for path in (ROOT / layer).rglob("*.py")
        if path.parent.name != "numeric"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
        and not node.bases
        and any(map(_freezes, node.decorator_list))
    }
    assert found == set()


def _freezes(decorator: ast.expr) -> bool:
    """Return whether it is ``@frozen``, unless it leaves comparisons out."""
    text = ast.unparse(decorator)
    return text.partition("(")[0] == "frozen" and "eq=False" not in text
