from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.adapters.access import Scope
from mnemic.adapters.access.scopes import SPACES_MAX, allows, checked_scopes
from mnemic.kernel.errors import FieldRefused

IMPLIED = {"read": {"read"}, "write": {"read", "write"}, "admin": {"read", "write", "admin"}}
SPACES = st.sampled_from(["notes", "team", "Notes", " notes", "*"])
WORDS: st.SearchStrategy[Scope] = st.sampled_from(["read", "write", "admin"])


@given(
    scopes=st.dictionaries(SPACES, WORDS, min_size=1),
    space=st.one_of(SPACES, st.text(min_size=1, max_size=5)),
    scope=WORDS,
)
def test_a_scope_covers_its_space_and_the_scopes_it_includes(
    scopes: dict[str, Scope], space: str, scope: Scope
) -> None:
    expected = any(
        scope in IMPLIED[granted] for name, granted in scopes.items() if name in {space, "*"}
    )
    assert allows(checked_scopes(scopes), space, scope) is expected


@pytest.mark.parametrize("word", ["", "READ", "owner", "read ", None, 1, ["read"]])
def test_unknown_scopes_are_refused(word: Any) -> None:
    with pytest.raises(FieldRefused) as granted:
        checked_scopes({"notes": word})
    with pytest.raises(FieldRefused) as asked:
        allows({"notes": "admin"}, "notes", word)
    assert granted.value.to_dict() == asked.value.to_dict()
    assert granted.value.recovery.startswith("Use read, write")


@pytest.mark.parametrize(
    "scopes",
    [
        {},
        None,
        "notes",
        ["notes"],
        {"": "read"},
        {" ": "read"},
        {7: "read"},
        {"x" * 201: "read"},
        {"\ud800": "read"},
        {f"space {number}": "read" for number in range(SPACES_MAX + 1)},
    ],
)
def test_scopes_that_name_no_spaces_are_refused(scopes: Any) -> None:
    with pytest.raises(FieldRefused):
        checked_scopes(scopes)


def test_scopes_are_sorted_and_immutable() -> None:
    given: dict[str, Scope] = {"team": "read", "notes": "write"}
    scopes: Any = checked_scopes(given)
    given["notes"] = "admin"
    assert list(scopes.items()) == [("notes", "write"), ("team", "read")]
    with pytest.raises(TypeError):
        scopes["team"] = "admin"
