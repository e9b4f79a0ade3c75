"""An audit is clean only if every package was looked up."""

from __future__ import annotations

import pytest

from tests.architecture.audit import CLEAN, UNKNOWN, VULNERABLE, Verdict, verdict

SOUND = {"name": "attrs", "version": "26.1.0", "vulns": []}
BAD = {"name": "old", "version": "1.0", "vulns": [{"id": "CVE-2020-1", "fix_versions": ["1.1"]}]}
UNFOUND = {"name": "odd", "skip_reason": "Dependency not found on PyPI"}
OURS = {"name": "mnemic", "skip_reason": "distribution marked as editable"}


@pytest.mark.parametrize(
    ("dependencies", "code", "lines"),
    [
        ([SOUND, OURS], CLEAN, ("1 packages: 0 known to be vulnerable, 0 not audited",)),
        (
            [SOUND, UNFOUND],
            UNKNOWN,
            (
                "odd: not audited: Dependency not found on PyPI",
                "2 packages: 0 known to be vulnerable, 1 not audited",
            ),
        ),
        (
            [BAD, UNFOUND],
            VULNERABLE,
            (
                "old 1.0: CVE-2020-1, mended in 1.1",
                "odd: not audited: Dependency not found on PyPI",
                "2 packages: 1 known to be vulnerable, 1 not audited",
            ),
        ),
        ([OURS], UNKNOWN, ("0 packages: 0 known to be vulnerable, 0 not audited",)),
    ],
    ids=["all looked up", "one not found", "one vulnerable", "nothing to look up"],
)
def test_an_audit_is_clean_only_if_everything_was_looked_up(
    dependencies: list[dict[str, object]], code: int, lines: tuple[str, ...]
) -> None:
    assert verdict({"dependencies": dependencies}) == Verdict(code=code, lines=lines)
