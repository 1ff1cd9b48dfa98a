# SPDX-License-Identifier: Apache-2.0
"""What the report of a comparison shows: each cell with what every stack has of it, and what was judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from suite import compare_arms, compare_rows, comparison, comparison_tables, journal, selftest, verdict
from suite.compare_arms import Arm
from suite.compare_rows import Compared, Judged
from suite.compare_tables import marked
from suite.comparison import Row, Side
from suite.records import Cell, Comparison, Judging
from suite.report.view import View, view
from suite.report.waterfall import Waterfall
from suite.rows import CellRow, TargetRow
from suite.stats import Estimate

#: With more runs than this no report is made unless it is asked for, and each run's own charts are left to its own.
MOST_RUNS = 20


@dataclass(frozen=True)
class Told:
    """A verdict with the word that the page shows for it."""

    judged: Judged
    word: str

    @property
    def ratio(self) -> Estimate | None:
        return self.judged.verdict.ratio


@dataclass(frozen=True)
class Standing:
    """What one stack has of one cell, and what was said of it beside the baseline, by quantity."""

    arm: str
    row: CellRow
    fresh: TargetRow | None
    first: Waterfall | None
    told: dict[str, Told]

    @property
    def start_up(self) -> Estimate | None:
        return self.fresh.start_up if self.fresh else None


@dataclass(frozen=True)
class Across:
    """One cell across all stacks that planned it, in the comparison's order."""

    cell: Cell
    stands: list[Standing]

    @property
    def name(self) -> str:
        return f"{self.cell.target} {self.cell.placement}"

    def measured(self) -> list[Standing]:
        """Return those that show times."""
        return [each for each in self.stands if each.row.cold and each.row.warm]

    def told(self, quantity: str) -> list[tuple[str, Told]]:
        """Return the verdicts on one quantity that have a ratio, with the stack of each."""
        found = [(each.arm, each.told[quantity]) for each in self.stands if quantity in each.told]
        return [(arm, told) for arm, told in found if told.ratio is not None]


@dataclass(frozen=True)
class CompareView:
    """All that the report of a comparison holds. ``alike``: a selftest's rows, None where stacks are compared."""

    comparison: Comparison
    compared: Compared
    runs: list[tuple[Arm, View]]
    across: list[Across]
    alike: list[Row] | None
    judging: Judging

    @property
    def told(self) -> list[Told]:
        """Every verdict, in the order of the comparison's tables."""
        return [Told(each, word(each, self.alike is not None)) for each in self.compared.judged]


def read(folder: Path) -> CompareView:
    """Read a comparison with its runs. Raises :class:`suite.journal.Unreadable`."""
    kept = selftest.read(folder)
    runs, sides = [], []
    for arm in kept.arms:
        at = folder / arm.folder
        run = journal.read_run(at)
        if run.protocol != "isolated":
            raise journal.Unreadable(f"{at}: a run of {run.protocol}: only runs of bench are compared")
        samples, notes = journal.read_samples(at)
        runs.append((compare_arms.of(arm.name, run, samples, notes), view(run, samples, notes)))
        sides.append(Side(run, samples))
    if kept.kind == "selftest":
        alike = comparison.compare(sides[0], sides[1], paired=True)
        judging = Judging(kept.arms[0].name, verdict.MARGIN)
    else:
        alike, judging = None, kept.judging
    compared = compare_rows.compare([arm for arm, _ in runs], judging, paired=kept.paired)
    return CompareView(kept, compared, runs, _across(compared, runs, alike is not None), alike, judging)


def _across(compared: Compared, runs: Sequence[tuple[Arm, View]], alike: bool) -> list[Across]:
    told: dict[tuple[str, str], dict[str, Told]] = {}
    for each in compared.judged:
        told.setdefault(each.key, {})[each.quantity] = Told(each, word(each, alike))
    cells: dict[tuple[str, str, int], Across] = {}
    # The baseline's cells come first, whichever arm it is; the arms in each cell keep the comparison's order.
    for arm in [compared.baseline, *compared.others()]:
        for row in arm.cells:
            cells.setdefault(_key(row.cell), Across(row.cell, []))
    for arm, seen in runs:
        first = {target.cell.id: found for target, found in seen.first}
        for row in arm.cells:
            cell = row.cell
            stand = Standing(
                arm.name, row, arm.fresh.get(cell.id), first.get(cell.id), told.get((arm.name, cell.id), {})
            )
            cells[_key(cell)].stands.append(stand)
    ways = list(dict.fromkeys((target, placement) for target, placement, _ in cells))
    targets = list(dict.fromkeys(target for target, _ in ways))
    return sorted(
        cells.values(),
        key=lambda each: (targets.index(each.cell.target), each.cell.placement, each.cell.n),
    )


def _key(cell: Cell) -> tuple[str, str, int]:
    return cell.target, cell.placement, cell.n


def word(judged: Judged, alike: bool) -> str:
    """Return a verdict's word; of a stack beside itself AMBIGUOUS says that no difference was found."""
    if alike and judged.verdict.word == "AMBIGUOUS":
        return "not told" if judged.verdict.p_adjusted is None else "no difference"
    return marked(judged)


def passed(seen: CompareView) -> str:
    """Return the verdict of a selftest in a sentence."""
    return f"{comparison_tables.passed(seen.alike or [])}."
