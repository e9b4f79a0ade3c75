from __future__ import annotations

from mnemic.adapters.analysts.absent import NoAnalyst
from mnemic.adapters.analysts.rules import RulesAnalyst
from mnemic.kernel.ports import Analyst
from mnemic.specs.contracts import AnalystContract


class TestRulesAnalyst(AnalystContract):
    def analyst(self) -> Analyst:
        return RulesAnalyst()


class TestNoAnalyst(AnalystContract):
    def analyst(self) -> Analyst:
        return NoAnalyst()
