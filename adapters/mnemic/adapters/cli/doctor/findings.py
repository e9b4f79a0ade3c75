"""The findings of the doctor: what was checked, its state, and a remedy."""

from __future__ import annotations

from typing import Literal, TypeAlias

from attrs import frozen

from mnemic.kernel.errors import MnemicError
from mnemic.kernel.results import Result, plural
from mnemic.kernel.values import Value

State: TypeAlias = Literal["ok", "warning", "problem"]


@frozen(kw_only=True, str=False)
class Finding(Result):
    """The result of one check."""

    about: str
    """``environment``, ``store``, or the name of a space."""
    what: str
    """The checked item, in a word or two."""
    state: State
    detail: str
    remedy: str | None = None
    """What to do, or an option."""

    @property
    def summary(self) -> str:
        return f"{self.state} {self.about}: {self.what}: {self.detail}"


@frozen(kw_only=True, str=False)
class Diagnosis(Result):
    """The results of all checks."""

    path: str
    """Of the store, with links followed."""
    findings: tuple[Finding, ...]
    warnings: int
    problems: int

    @classmethod
    def of(cls, path: str, findings: tuple[Finding, ...]) -> Diagnosis:
        """Return the diagnosis made of findings."""
        states = [finding.state for finding in findings]
        return cls(
            path=path,
            findings=findings,
            warnings=states.count("warning"),
            problems=states.count("problem"),
        )

    @property
    def summary(self) -> str:
        if not (self.problems or self.warnings):
            return "Everything is in order."
        return f"{plural(self.problems, 'problem')}, {plural(self.warnings, 'warning')}."


@frozen(kw_only=True)
class About(Value):
    """Factory of findings about one subject."""

    name: str

    def ok(self, what: str, detail: str, *, remedy: str | None = None) -> Finding:
        """Return a finding that an item is in order."""
        return self._found(what, "ok", detail, remedy)

    def warning(self, what: str, detail: str, *, remedy: str) -> Finding:
        """Return a finding that an item may cause unexpected behaviour."""
        return self._found(what, "warning", detail, remedy)

    def problem(self, what: str, detail: str, *, remedy: str) -> Finding:
        """Return a finding that an item does not work."""
        return self._found(what, "problem", detail, remedy)

    def failure(self, what: str, error: MnemicError) -> Finding:
        """Return a finding that checking an item raised an error."""
        return self.problem(what, error.message, remedy=error.recovery)

    def _found(self, what: str, state: State, detail: str, remedy: str | None) -> Finding:
        return Finding(about=self.name, what=what, state=state, detail=detail, remedy=remedy)
