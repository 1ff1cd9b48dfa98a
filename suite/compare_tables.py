# SPDX-License-Identifier: Apache-2.0
"""A comparison as tables for people: side by side where two stacks fit a terminal, else a block for each cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from suite import units
from suite.compare_arms import Arm
from suite.compare_rows import Compared, Judged
from suite.document import Part, Table, Title
from suite.records import Cell
from suite.rows import CellRow, Count, TargetRow
from suite.stats import Estimate

#: So many stacks stand side by side in 80 columns; more take a row each, in a block for each cell.
SIDE_BY_SIDE = 2

NOTHING = "-"


def side_by_side(compared: Compared) -> Iterator[Part]:
    """Return the numbers of all arms, cold and warm and what a process pays once, in the first plan's order."""
    cells = _keys(compared)
    if len(compared.arms) <= SIDE_BY_SIDE:
        yield from _wide(compared, cells)
    else:
        yield from _blocks(compared, cells)


def _wide(compared: Compared, cells: Sequence[Cell]) -> Iterator[Part]:
    """Return a table for each quantity: a row for each cell, a column for each arm."""
    names = [arm.name for arm in compared.arms]
    columns: list[tuple[str, Callable[[CellRow], Estimate | None], bool]] = [
        ("Cold: what a shape pays once [95 %]", lambda row: row.cold, True),
        ("Warm: the same call again [95 %]", lambda row: row.warm, True),
        ("cold / warm [95 %]", lambda row: row.ratio, False),
    ]
    for place, (head, read, timed) in enumerate(columns):
        body = [
            [*_cell(cell), *(_of_cell(_row(arm, cell), read, timed) for arm in compared.arms)]
            for cell in cells
            # What was not measured at all is told once, in the first table.
            if place == 0
            or any(row and row.count.shows_times for row in (_row(arm, cell) for arm in compared.arms))
        ]
        if not body:
            continue
        yield Title(head)
        yield Table(["cell", "n", *names], body, "lr" + "l" * len(names))
    once: list[tuple[str, Callable[[TargetRow], Estimate | None]]] = [
        ("First result: what a person waits [95 %]", lambda row: row.first_result),
        ("Start-up: what a process pays once [95 %]", lambda row: row.start_up),
    ]
    for head, read_fresh in once:
        body = [
            [*_cell(cell), *(_of_fresh(_fresh(arm, cell), read_fresh) for arm in compared.arms)]
            for cell in cells
            if any(fresh and fresh.count.shows_times for fresh in (_fresh(arm, cell) for arm in compared.arms))
        ]
        if body:
            yield Title(head)
            yield Table(["cell", "n", *names], body, "lr" + "l" * len(names))


def _blocks(compared: Compared, cells: Sequence[Cell]) -> Iterator[Part]:
    """Return a table for each cell: a row for each arm."""
    for cell in cells:
        there = [(arm, row) for arm in compared.arms if (row := _row(arm, cell)) is not None]
        if not any(row.count.shows_times for _, row in there):
            continue
        yield Title(f"{_name(cell)} {cell.n}")
        yield Table(
            ["stack", "cold [95 %]", "warm [95 %]", "cold/warm", "samples"],
            [[arm.name, *_numbers(row), samples(row.count, row.tagged)] for arm, row in there],
            "lllrl",
        )
        once = [(arm, fresh) for arm, _ in there if (fresh := _fresh(arm, cell)) is not None]
        if any(fresh.count.shows_times for _, fresh in once):
            yield Title(f"{_name(cell)} {cell.n}: what a process pays once")
            yield Table(
                ["stack", "first result [95 %]", "start-up [95 %]", "samples"],
                [
                    [arm.name, time(fresh.first_result), time(fresh.start_up), samples(fresh.count)]
                    for arm, fresh in once
                ],
                "llll",
            )


def long(compared: Compared) -> Table:
    """Return one table with a row for each cell of each arm."""
    judged = {(each.key, each.quantity): each for each in compared.judged}
    body: list[list[object]] = []
    for arm in compared.arms:
        for row in arm.cells:
            fresh = arm.fresh.get(row.cell.id)
            words = [judged.get(((arm.name, row.cell.id), quantity)) for quantity in ("cold", "warm")]
            body.append(
                [
                    *(arm.name, arm.version, *_cell(row.cell)),
                    time(fresh.start_up if fresh else None),
                    time(fresh.first_result if fresh else None),
                    *(*_numbers(row, with_interval=True), samples(row.count, row.tagged)),
                    *(marked(each) if each else "" for each in words),
                ]
            )
    header = ["stack", "version", "cell", "n", "start-up [95 %]", "first result [95 %]"]
    header += ["cold [95 %]", "warm [95 %]", "cold/warm [95 %]", "samples", "cold is", "warm is"]
    return Table(header, body, "lllrllllllll")


def verdicts(compared: Compared) -> Iterator[Part]:
    """Return the verdicts of each arm on the baseline, cold and warm apart."""
    for arm in compared.others():
        mine = compared.of(arm)
        if not mine:
            continue
        yield Title(f"{arm.name} beside {compared.baseline.name}")
        body = [
            [
                *_cell(each.b.cell),
                each.quantity,
                units.with_interval(each.verdict.ratio) if each.verdict.ratio else NOTHING,
                _narrow(each),
                each.verdict.reason,
            ]
            for each in mine
        ]
        yield Table(["cell", "n", "time", "ratio [95 %]", "verdict", "reason"], body, "lrllll")


def _narrow(judged: Judged) -> str:
    """Return the same as :func:`marked`, a field a line: a terminal has 80 columns."""
    return judged.verdict.word + (" (other\n" + ",\n".join(judged.allowed) + ")" if judged.allowed else "")


def marked(judged: Judged) -> str:
    """Return a verdict's word, with the fields behind it that ALLOW= let pass."""
    return " ".join([judged.verdict.word, *(f"(other {field})" for field in judged.allowed)])


def stacks(compared: Compared) -> Table:
    """Return what is compared: the stacks, with what differs on purpose."""
    body = [
        [
            arm.name + (" *" if arm is compared.baseline else ""),
            arm.framework,
            arm.python,
            str(arm.run.engine["name"]),
            arm.state,
            str(arm.run.stack["sha256"])[:10],
        ]
        for arm in compared.arms
    ]
    return Table(["stack", "framework", "Python", "engine", "state", "digest"], body, "llllll")


def samples(count: Count, tagged: int = 0) -> str:
    """Return how many samples are ok, or the status, and how many bear a tag."""
    if count.status == "ok":
        text = count.text()
    else:
        text = count.status if count.ok == 0 else f"{count.ok}/{count.planned} {count.status}"
    return text + (f" ({tagged}!)" if tagged else "")


def time(estimate: Estimate | None) -> str:
    """Return a time with its interval, or a dash."""
    return units.seconds_with_interval(estimate) if estimate else NOTHING


def _numbers(row: CellRow, *, with_interval: bool = False) -> list[str]:
    if not (row.cold and row.warm and row.ratio):
        return [NOTHING] * 3
    ratio = units.with_interval(row.ratio) if with_interval else units.significant(row.ratio.centre)
    return [time(row.cold), time(row.warm) + _star(row), ratio]


def _star(row: CellRow) -> str:
    return "*" if row.not_steady else ""


def _of_cell(row: CellRow | None, read: Callable[[CellRow], Estimate | None], timed: bool) -> str:
    if row is None:
        return NOTHING
    estimate = read(row)
    if estimate is None:
        return samples(row.count)
    if not timed:
        return units.with_interval(estimate)
    star = _star(row) if estimate is row.warm else ""
    tagged = f" {row.tagged}!" if row.tagged else ""
    return f"{time(estimate)}{star} {row.count.ok}/{row.count.planned}{tagged}"


def _of_fresh(row: TargetRow | None, read: Callable[[TargetRow], Estimate | None]) -> str:
    if row is None:
        return NOTHING
    estimate = read(row)
    if estimate is None:
        return samples(row.count) if not row.count.shows_times else NOTHING
    return f"{time(estimate)} {row.count.ok}/{row.count.planned}"


def _cell(cell: Cell) -> list[object]:
    return [_name(cell), cell.n]


def _name(cell: Cell) -> str:
    return f"{cell.target} {cell.placement}"


def _keys(compared: Compared) -> list[Cell]:
    """Return one cell for each target, placement and shape that any arm has: the baseline's order, then the others'.

    Those of one target stand together, shapes ascending.
    """
    arms = [compared.baseline, *compared.others()]
    found = {(row.cell.target, row.cell.placement, row.cell.n): row.cell for arm in arms for row in arm.cells}
    targets = list(dict.fromkeys(target for target, _, _ in found))
    return sorted(found.values(), key=lambda cell: (targets.index(cell.target), cell.placement, cell.n))


def _row(arm: Arm, cell: Cell) -> CellRow | None:
    wanted = (cell.target, cell.placement, cell.n)
    return next((row for row in arm.cells if (row.cell.target, row.cell.placement, row.cell.n) == wanted), None)


def _fresh(arm: Arm, cell: Cell) -> TargetRow | None:
    row = _row(arm, cell)
    return arm.fresh.get(row.cell.id) if row else None
