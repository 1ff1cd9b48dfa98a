# SPDX-License-Identifier: Apache-2.0
"""What a run's report shows, and what it withholds: from records to what is drawn. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from suite import rows
from suite.records import Cell, Reason, Run, Sample
from suite.report.charts import Dots, Line
from suite.report.series import Series, series
from suite.report.waterfall import Waterfall, waterfall
from suite.rows import CellRow, TargetRow


@dataclass(frozen=True)
class Group:
    """The cells of one target and placement that show a time, in order of n."""

    target: str
    placement: str
    rows: list[CellRow]

    @property
    def name(self) -> str:
        return f"{self.target} {self.placement}"

    def lines(self) -> list[Line]:
        """Return cold and warm against n."""
        return [
            Line("cold", [(row.cell.n, row.cold) for row in self.rows if row.cold]),
            Line("warm", [(row.cell.n, row.warm) for row in self.rows if row.warm]),
        ]

    def dots(self) -> list[Dots]:
        """Return the values of every process."""
        return [
            Dots(name, row.cell.n, sorted(values.items()), centre.centre, row.outliers.get(name, []))
            for row in self.rows
            for name, values, centre in (("cold", row.colds, row.cold), ("warm", row.warms, row.warm))
            if centre is not None
        ]


@dataclass(frozen=True)
class Withheld:
    """A cell, or its first result, without a time, and why."""

    cell: Cell
    what: str
    status: str
    count: str
    reason: Reason | None


@dataclass(frozen=True)
class View:
    """All that a report holds; cells and samples that are not proven are in ``withheld`` and nowhere else."""

    run: Run
    cells: list[CellRow]
    targets: list[TargetRow]
    groups: list[Group]
    first: list[tuple[TargetRow, Waterfall]]
    warm: list[tuple[CellRow, list[Series]]]
    withheld: list[Withheld]
    samples: Sequence[Sample]
    notes: Sequence[str]


def view(run: Run, samples: Sequence[Sample], notes: Sequence[str] = ()) -> View:
    """Return what a report of this run holds. Samples that were taken again are in no chart, as in no headline."""
    cells, targets = rows.cell_rows(run, samples), rows.target_rows(run, samples)
    planned = [each for each in samples if not each.again]
    groups: dict[tuple[str, str], list[CellRow]] = {}
    for row in cells:
        if row.cold is not None and row.warm is not None:
            groups.setdefault((row.cell.target, row.cell.placement), []).append(row)
    first = []
    for target in targets:
        if target.first_result is not None:
            found = waterfall([each for each in planned if (each.kind, each.cell) == ("fresh", target.cell.id)])
            if found is not None:
                first.append((target, found))
    warm = []
    for row in cells:
        if row.warm is not None:
            mine = [each for each in planned if (each.kind, each.cell) == ("prepared", row.cell.id)]
            taken = [
                made for each in sorted(mine, key=lambda one: (one.block, one.order)) if (made := series(each))
            ]
            if taken:
                warm.append((row, taken))
    return View(
        run=run,
        cells=cells,
        targets=targets,
        groups=[Group(*key, sorted(found, key=lambda row: row.cell.n)) for key, found in groups.items()],
        first=first,
        warm=warm,
        withheld=_withheld(cells, targets),
        samples=samples,
        notes=notes,
    )


def _withheld(cells: Sequence[CellRow], targets: Sequence[TargetRow]) -> list[Withheld]:
    out = [
        Withheld(row.cell, "cold, warm", row.count.status, row.count.text(), row.count.reason)
        for row in cells
        if not row.count.shows_times
    ]
    there = {(each.cell.id, each.status) for each in out}
    return out + [
        Withheld(row.cell, "first result", row.count.status, row.count.text(), row.count.reason)
        for row in targets
        if not row.count.shows_times and (row.cell.id, row.count.status) not in there
    ]
