"""What code says of itself, taken apart."""

from __future__ import annotations

import pytest

from mnemic.adapters.http import failures
from mnemic.adapters.wire.docstrings import Docstring, docstring, plainly
from mnemic.adapters.wire.problems import known
from mnemic.adapters.wire.verbs import verbs


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


def test_a_docstring_is_taken_apart() -> None:
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
def test_words_are_put_for_those_who_write_no_python(words: str, plain: str) -> None:
    assert plainly(words) == plain


def test_every_error_that_a_verb_names_is_one_of_ours() -> None:
    ours = {each.__name__ for each in known().values()} | set(vars(failures))
    named = {name for verb in verbs().values() for name in verb.told.raises}
    assert named - ours == set()
