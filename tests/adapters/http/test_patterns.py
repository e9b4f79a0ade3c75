"""Patterns in the description: they match exactly what the server reads."""

from __future__ import annotations

import re
from urllib.parse import urlencode

import pytest

from mnemic.adapters.http.description.openapi import document
from tests.adapters.http.interfaces import NOTES, Interface

DATES = [
    "2026-03-02",
    "20260302",
    "2026-W10-1",
    " 2026-03-02T09:04:00Z ",
    "2026-03-02 09:04:00.5+02:00",
    "2026-03-02T0904",
]
NO_DATES = ["", "soon", "2026", "2026-03", "02.03.2026", "2026-03-02T", "1772442240", "2026-03-02Z"]
ETAGS = ['"901"', 'W/"901"', '"1", "2"', "*", ' "1" ,W/"2"', '"1",']
NO_ETAGS = ["901", '"901', "W/901", '"1" "2"', "*, *", 'w/"1"']


def pattern(name: str) -> str:
    """Return the pattern of a common parameter."""
    found: str = document()["components"]["parameters"][name]["schema"]["pattern"]
    return found


@pytest.mark.parametrize("date", DATES + NO_DATES)
def test_the_pattern_of_a_date_is_what_the_server_reads(refusing: Interface, date: str) -> None:
    path = f"{NOTES}/blocks?{urlencode({'as_of': 'version:1', 'now': date})}"
    is_read = refusing.ask("GET", path).status_code == 200
    assert (re.search(pattern("Now"), date) is not None) is is_read is (date in DATES)


@pytest.mark.parametrize("name", ["IfMatch", "IfNoneMatch"])
@pytest.mark.parametrize("etag", ETAGS + NO_ETAGS)
def test_the_pattern_of_an_etag_is_what_the_server_reads(
    refusing: Interface, name: str, etag: str
) -> None:
    header = {"IfMatch": "if-match", "IfNoneMatch": "if-none-match"}[name]
    answer = refusing.ask("GET", f"{NOTES}/blocks", headers={header: etag})
    is_read = answer.status_code != 400
    assert (re.search(pattern(name), etag) is not None) is is_read is (etag in ETAGS)


def test_every_argument_that_is_a_date_has_a_pattern() -> None:
    schemas = document()["components"]["schemas"]
    named = {"LearnArguments": ["created_at", "expires_at"], "Lesson": ["created_at", "expires_at"]}
    named |= {"Filter": ["since", "until"], "ForkArguments": ["at"]}
    for schema, fields in named.items():
        for field in fields:
            shape = schemas[schema]["properties"][field]
            assert re.search(shape["pattern"], "2026-03-02T09:04:00+00:00")
            assert not re.search(shape["pattern"], "yesterday")
    assert re.search(schemas["LearnArguments"]["properties"]["created_at"]["pattern"], "unknown")
