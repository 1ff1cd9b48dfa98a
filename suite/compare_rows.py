# SPDX-License-Identifier: Apache-2.0
"""What each arm of a comparison says beside the baseline, cell by cell: pure functions of the arms."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from suite import comparison, gate, verdict
from suite.compare_arms import Arm
from suite.comparison import QUANTITIES, Quantity
from suite.gate import Difference
from suite.records import Judging
from suite.rows import CellRow
from suite.verdict import Verdict

#: The field of the gate whose other values are looked for only where ALLOW= names it.
PLACEMENT = "placement"


@dataclass(frozen=True)
class Judged:
    """One quantity of one cell: what ``arm`` says beside the baseline."""

    baseline: str
    arm: str
    a: CellRow
    b: CellRow
    quantity: Quantity
    verdict: Verdict
    differs: Sequence[Difference] = ()
    """Every field that must be the same and is not; with a word other than INCOMPARABLE, ALLOW= named them all."""

    @property
    def key(self) -> tuple[str, str]:
        return self.arm, self.b.cell.id

    @property
    def allowed(self) -> list[str]:
        """The fields that ALLOW= let pass: the verdict is marked with them."""
        return [] if self.verdict.word == "INCOMPARABLE" else [each.field for each in self.differs]


@dataclass(frozen=True)
class OneSided:
    """A cell that shows times on one side only, or that the other side's plan has not."""

    there: str
    missing: str
    """The arm that has no times for it."""
    row: CellRow
    why: str


@dataclass(frozen=True)
class Compared:
    """A whole comparison: its arms, verdicts against the baseline, and what could not be set side by side."""

    arms: Sequence[Arm]
    baseline: Arm
    judged: Sequence[Judged]
    one_sided: Sequence[OneSided]
    not_recorded: Sequence[str] = ()
    """Fields of the gate that neither side of some cell had recorded."""

    def others(self) -> list[Arm]:
        return [arm for arm in self.arms if arm is not self.baseline]

    def of(self, arm: Arm) -> Sequence[Judged]:
        """Return the verdicts on one arm."""
        return self._by_arm.get(arm.name, [])

    @functools.cached_property
    def _by_arm(self) -> dict[str, list[Judged]]:
        out: dict[str, list[Judged]] = {}
        for each in self.judged:
            out.setdefault(each.arm, []).append(each)
        return out


def compare(arms: Sequence[Arm], judging: Judging, *, paired: bool) -> Compared:
    """Judge every arm beside the baseline; all cells of all arms together are one family of tests.

    Parameters
    ----------
    judging
        Its baseline names one of the arms; "" means the first.
    paired
        Whether the arms were measured interleaved.
    """
    baseline = next((arm for arm in arms if arm.name == judging.baseline), arms[0])
    pairs: list[tuple[Arm, CellRow, CellRow, list[Difference]]] = []
    one_sided: list[OneSided] = []
    unknown: set[str] = set()
    for arm in arms:
        if arm is baseline:
            continue
        both, alone = _matched(baseline, arm, judging.allow)
        one_sided += alone
        for ours, theirs in both:
            a, b = baseline.identity[ours.cell.id], arm.identity[theirs.cell.id]
            pairs.append((arm, ours, theirs, gate.differences(a, b, same_stack=baseline.same_stack(arm))))
            unknown.update(gate.not_recorded(a, b))
    judged = list(_judged(baseline, pairs, judging, paired=paired))
    fields = [field for field in gate.FIELDS if field in unknown]
    return Compared(arms, baseline, judged, one_sided, fields)


def _judged(
    baseline: Arm,
    pairs: Sequence[tuple[Arm, CellRow, CellRow, list[Difference]]],
    judging: Judging,
    *,
    paired: bool,
) -> Iterator[Judged]:
    each = [(quantity, *pair) for pair in pairs for quantity in QUANTITIES]
    pairings = []
    for quantity, arm, ours, theirs, differs in each:
        stop = gate.blocked(differs, judging.allow)
        pairings.append(
            comparison.pairing(
                quantity,
                ours,
                theirs,
                paired=paired,
                blocked=(stop.field, stop.text()) if stop else None,
                names=(baseline.name, arm.name),
            )
        )
    decided = verdict.decide(pairings, margin=judging.margin)
    for (quantity, arm, ours, theirs, differs), found in zip(each, decided, strict=True):
        yield Judged(baseline.name, arm.name, ours, theirs, quantity, found, differs)


def _matched(
    baseline: Arm, arm: Arm, allow: Collection[str]
) -> tuple[list[tuple[CellRow, CellRow]], list[OneSided]]:
    """Return the cells that both sides show times for, and those that only one of them does.

    With ALLOW=placement a cell without a counterpart of its own placement takes one of another.
    """
    ours = {_key(row): row for row in baseline.cells}
    theirs = {_key(row): row for row in arm.cells}
    both: list[tuple[CellRow, CellRow]] = []
    alone: list[OneSided] = []
    for key in dict.fromkeys((*ours, *theirs)):
        a, b = ours.get(key), theirs.get(key)
        row = a or b
        assert row is not None
        if PLACEMENT in allow or baseline.same_stack(arm):
            a = a or _elsewhere(row, baseline)
            b = b or _elsewhere(row, arm)
        if a and b and a.count.shows_times and b.count.shows_times:
            if (a, b) not in both:  # two placements that each have no other counterpart meet twice
                both.append((a, b))
        elif a and a.count.shows_times:
            alone.append(OneSided(baseline.name, arm.name, a, _why(b, a, arm)))
        elif b and b.count.shows_times:
            alone.append(OneSided(arm.name, baseline.name, b, _why(a, b, baseline)))
    return both, alone


def _key(row: CellRow) -> tuple[str, str, str, int]:
    return row.cell.target, row.cell.placement, row.cell.op, row.cell.n


def _elsewhere(row: CellRow, arm: Arm) -> CellRow | None:
    """Return an arm's cell of the same target and shape, whatever its placement."""
    wanted = (row.cell.target, row.cell.op, row.cell.n)
    return next((each for each in arm.cells if (each.cell.target, each.cell.op, each.cell.n) == wanted), None)


def _why(row: CellRow | None, other: CellRow, arm: Arm) -> str:
    if row is not None:
        return row.count.status
    elsewhere = _elsewhere(other, arm)
    if elsewhere is not None:
        return f"its {other.cell.target} is {elsewhere.cell.placement}"
    return "not in its plan"
