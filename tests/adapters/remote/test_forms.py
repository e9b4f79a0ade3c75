"""Argument forms have the fields and defaults of the kernel's values."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from mnemic.adapters.remote import forms
from mnemic.kernel.decisions.composing import MemberSpec
from mnemic.kernel.decisions.connecting import Assertion
from mnemic.kernel.decisions.learning import Lesson
from mnemic.kernel.model.filters import KEYS


def told(of: type) -> dict[str, Any]:
    """Return the fields of a class with their defaults, in order."""
    return {each.name.removesuffix("_"): each.default for each in attrs.fields(of)}


@pytest.mark.parametrize(
    ("form", "taken"),
    [(forms.Lesson, Lesson), (forms.Assertion, Assertion), (forms.Member, MemberSpec)],
    ids=lambda each: each.__name__,
)
def test_a_form_has_the_fields_of_its_kernel_value(form: type, taken: type) -> None:
    assert list(told(form).items()) == list(told(taken).items())


def test_a_filter_has_the_conditions_of_a_recall() -> None:
    assert told(forms.Filter) == dict.fromkeys(KEYS)
