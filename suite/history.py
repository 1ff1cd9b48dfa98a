# SPDX-License-Identifier: Apache-2.0
"""One cell over all runs of a tree: a table for each machine, by date, and what changed from run to run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from suite import units
from suite.entries import Entry, Point
from suite.errors import SuiteError
from suite.exits import Exit
from suite.index import plain
from suite.layout import items, paragraph, table
from suite.machines import Machine
from suite.records import Cell
from suite.stack import TARGETS
from suite.stats import Estimate


@dataclass(frozen=True)
class Wanted:
    """The cells that CELL= means; placement None: any."""

    target: str
    placement: str | None
    n: int

    def __call__(self, cell: Cell) -> bool:
        placement = self.placement in (None, cell.placement)
        return cell.target == self.target and cell.n == self.n and placement

    def text(self) -> str:
        return " ".join(filter(None, (self.target, self.placement, str(self.n))))


def parse(text: str) -> Wanted:
    """Return the cells of CELL="XLA_CPU jit 500": target, placement or not, shape; dots will do, as in a cell's id.

    Raises
    ------
    SuiteError
        USAGE for anything else.
    """
    found = re.fullmatch(r"(\w+)[\s.,]+(?:(device|jit)[\s.,]+)?(\d{1,9})", text.strip(), re.ASCII)
    if not found or found[1] not in TARGETS:
        what = f"CELL={text}: {text!r} is no target, placement and shape"
        raise SuiteError(Exit.USAGE, what, f'CELL="XLA_CPU jit 500", say; targets: {", ".join(TARGETS)}.')
    return Wanted(found[1], found[2], int(found[3]))


@dataclass(frozen=True)
class Line:
    """The runs of one cell on one machine, by date: what may be read as one series."""

    machine: Machine
    cell: Cell
    points: Sequence[tuple[Entry, Point]]


def lines(entries: Sequence[Entry]) -> list[Line]:
    """Return the lines that runs give, by stack, cell and machine.

    A line is never of two machines, nor of two engines, Pythons, precisions or levels: those are other cells.
    """
    found: dict[tuple[str, ...], list[tuple[Entry, Point]]] = {}
    for entry in entries:
        for point in entry.points:
            found.setdefault(_key(entry, point), []).append((entry, point))
    out = []
    for key in sorted(found):
        points = sorted(found[key], key=lambda each: (each[0].created_utc, each[0].run_id, str(each[0].folder)))
        out.append(Line(points[0][0].machine, points[0][1].cell, points))
    return out


def _key(entry: Entry, point: Point) -> tuple[str, ...]:
    cell = point.cell
    what = (
        cell.stack,
        cell.target,
        cell.placement,
        cell.op,
        f"{cell.n:09}",
        cell.dtype,
        cell.precision,
        cell.level,
    )
    return *what, cell.python, cell.engine, entry.machine.text(), entry.machine.id


def text(wanted: Wanted, found: Sequence[Line]) -> str:
    """Return the history for a terminal of 80 columns.

    Raises
    ------
    SuiteError
        USAGE where no run has such a cell.
    """
    if not found:
        raise SuiteError(Exit.USAGE, f"CELL={wanted.text()}: no run has this cell", "make collect lists the runs.")
    return "\n\n".join(_line(each) for each in found) + "\n"


def _line(line: Line) -> str:
    cell = line.cell
    head = [
        f"{cell.target} {cell.placement} {cell.n} on {cell.stack}",
        f"{cell.op}, {cell.dtype}, precision {cell.precision}, level {cell.level}, Python {cell.python}, {cell.engine}",
        f"machine {line.machine.id}: {line.machine.text()}",
    ]
    body = [_row(entry, point) for entry, point in line.points]
    columns = ["run", "cold [95 %]", "warm [95 %]", "samples"]
    shown = "\n".join(each.rstrip() for each in table(body, columns, "simple", "llll").splitlines())
    parts = ["\n".join(paragraph(plain(each)) for each in head), shown]
    notes = [*changes(line.points)]
    if any(point.not_steady for _, point in line.points):
        notes.append("* warm series that are not steady, taken by their last half")
    if any(point.tagged for _, point in line.points):
        notes.append("! samples that are tagged, kept in every figure")
    return "\n".join([*parts, *([items([plain(each) for each in notes], False)] if notes else [])])


def _row(entry: Entry, point: Point) -> list[str]:
    count = f"{point.count.ok}/{point.count.planned}" + (f" ({point.tagged}!)" if point.tagged else "")
    if point.cold is None or point.warm is None:
        return [plain(entry.run_id), point.count.status, "-", count]
    return [plain(entry.run_id), _time(point.cold), _time(point.warm) + "*" * point.not_steady, count]


def _time(estimate: Estimate) -> str:
    return units.seconds_with_interval(estimate)


def changes(points: Sequence[tuple[Entry, Point]]) -> list[str]:
    """Return what each run is made of otherwise than the one before it; what either did not record is no change."""
    out = []
    for (before, _), (after, _) in zip(points, points[1:], strict=False):
        told = [
            f"{name} {before.made_of[name]} -> {value}"
            for name, value in after.made_of.items()
            if value and before.made_of.get(name) and before.made_of[name] != value
        ]
        if told:
            out.append(f"{after.run_id}: {'; '.join(told)}")
    return out
