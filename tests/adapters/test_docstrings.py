"""Parsing of docstrings."""

from __future__ import annotations

import pytest

from mnemic.adapters.docstrings import Docstring, docstring, plainly
from mnemic.adapters.remote import transport_errors
from mnemic.adapters.remote.errors import known
from mnemic.adapters.remote.operations import operations


def told(one: int, other: int) -> int:
    """Say something.

    At some length, over
    two lines.

    Args:
        one: The first; None: nothing.
            It goes on.
        other: See the class.

    Returns:
        A number.

    Raises:
        ValueError, TypeError,
            KeyError: See each.
        OSError: The disk
            is full.
    """
    return one + other


def test_a_docstring_is_parsed() -> None:
    assert docstring(told) == Docstring(
        summary="Say something.",
        body="At some length, over two lines.",
        arguments={"one": "The first; None: nothing. It goes on.", "other": "See the class."},
        raises={
            "ValueError": "",
            "TypeError": "",
            "KeyError": "",
            "OSError": "The disk is full.",
        },
    )


@pytest.mark.parametrize(
    ("words", "plain"),
    [
        ("None: all of them.", "Null: all of them."),
        ("As ``a``; None where *b* is.", "As `a`; null where `b` is."),
        ("None of them.", "None of them."),
        ("Erased. None once gone.", "Erased. Null once gone."),
    ],
)
def test_texts_are_rewritten_for_readers_without_python(words: str, plain: str) -> None:
    assert plainly(words) == plain


def test_every_error_that_an_operation_names_is_one_of_ours() -> None:
    ours = {each.__name__ for each in known().values()} | set(vars(transport_errors))
    named = {name for operation in operations().values() for name in operation.docs.raises}
    assert named - ours == set()
