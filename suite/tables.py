# SPDX-License-Identifier: Apache-2.0
"""The tables of one run, for a terminal of 80 columns, for Markdown and as CSV. Same input, same bytes."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence

from suite import rates, rows, second_clock, standing, stats, units
from suite.document import Items, Part, Table, Title, View, render
from suite.layout import heading
from suite.records import PHASES, Run, Sample
from suite.remarks import WANTED, remarks
from suite.rows import CellRow, Count, Rows, TargetRow
from suite.stats import Estimate

CELL_COLUMNS = ("stack", "target", "placement", "op", "n", "dtype", "precision", "level", "python", "engine")
CSV_COLUMNS = (
    *CELL_COLUMNS,
    *("status", "ok", "planned", "reason"),
    *("cold_s", "cold_low_s", "cold_high_s"),
    *("warm_s", "warm_low_s", "warm_high_s", "not_steady"),
    *("ratio", "ratio_low", "ratio_high", "ratio_half_width", "samples_for_5_percent"),
    *("warm_flops", "precision_in_force", "ceiling_flops"),
    *("device_clock_s", "device_clock_wall_s"),
    *("to_steady_s", "outliers", "tagged", "tags", "added", "added_cold_s", "added_warm_s"),
    *("compiles_cold", "compiles_warm", "base", "effective_cpus", "threads", "onednn"),
    *("first_result_status", "first_result_ok", "first_result_planned"),
    *("first_result_s", "first_result_low_s", "first_result_high_s"),
    *("start_up_s", "start_up_low_s", "start_up_high_s"),
)

#: At most so many cells side by side in one table of phases: what fits 80 columns.
PHASE_COLUMNS = 4


def text(
    run: Run,
    samples: Sequence[Sample],
    notes: Sequence[str] = (),
    view: View | None = None,
    made: Rows | None = None,
) -> str:
    """Return the run's tables and notes as text, in one of :data:`suite.document.FORMATS`, wide or long.

    Wide (the default, in 80 columns) has a table for each question, long one with a row for each cell. ``made``: the
    run's rows, where somebody has made them.
    """
    view, made = view or View(), made or rows.both(run, samples)
    if view.style == "csv":
        return as_csv(run, samples, made)
    return render(list(_parts(run, samples, notes, view.layout, made)), view.style)


def _parts(run: Run, samples: Sequence[Sample], notes: Sequence[str], layout: str, made: Rows) -> Iterator[Part]:
    cell_rows, target_rows = made.cells, made.targets
    yield heading(run, samples)
    if layout == "long":
        yield Title("Every cell")
        yield _long(cell_rows, target_rows)
    else:
        yield Title("What a shape pays once, and then")
        yield _cells(cell_rows)
        yield Title("What a process pays once (fresh samples)")
        yield _targets(target_rows)
    if any(row.phases_s for row in target_rows):
        yield Title("Where the first result's time went (median of fresh samples)")
        yield from _phases(target_rows)
    told = [*remarks(samples, cell_rows, target_rows), *rates.notes(run, samples, cell_rows)]
    told += [*standing.notes(run), *notes]
    if told:
        yield Title("Notes")
        yield Items(told)


def as_csv(run: Run, samples: Sequence[Sample], made: Rows | None = None) -> str:
    """Return the run's rows as CSV: times in seconds by repr, nothing where there is no number."""
    made = made or rows.both(run, samples)
    fresh = {row.cell.id: row for row in made.targets}
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, CSV_COLUMNS, lineterminator="\n")
    writer.writeheader()
    speed = rates.rates(run, samples, made.cells)
    for row in made.cells:
        cell, count = row.cell, row.count
        line: dict[str, object] = {name: getattr(cell, name) for name in CELL_COLUMNS}
        line.update(status=count.status, ok=count.ok, planned=count.planned)
        line["reason"] = count.reason.code if count.reason else ""
        line["not_steady"] = " ".join(f"{state}:{n}" for state, n in row.not_steady.items())
        _spread(line, "cold", row.cold, "_s")
        _spread(line, "warm", row.warm, "_s")
        _spread(line, "ratio", row.ratio, "")
        line.update(_further(row))
        rate = speed.get(cell.id)
        if rate is not None:
            line["warm_flops"], line["precision_in_force"] = repr(rate.flops), rate.precision
            line["ceiling_flops"] = "" if rate.ceiling_flops is None else repr(rate.ceiling_flops)
        clocks = second_clock.of_cell(samples, cell.id) if row.count.shows_times else None
        if clocks is not None:
            line["device_clock_s"], line["device_clock_wall_s"] = repr(clocks.device_s), repr(clocks.wall_s)
        for name in ("cold", "warm"):
            line[f"compiles_{name}"] = max(row.compiles[name]) if row.compiles else ""
        line.update(_limits(samples))
        line["base"] = run.environment.get("base", "")
        once = fresh.get(cell.id)
        if once:
            line["first_result_status"] = once.count.status
            line["first_result_ok"], line["first_result_planned"] = once.count.ok, once.count.planned
            _spread(line, "first_result", once.first_result, "_s")
            _spread(line, "start_up", once.start_up, "_s")
        writer.writerow(line)
    return file.getvalue()


def _further(row: CellRow) -> dict[str, object]:
    """Return what qualifies a row's numbers: interval reached, steadiness, outliers, tags, samples taken again."""
    out: dict[str, object] = {
        "tagged": row.tagged,
        "tags": " ".join(f"{tag.replace(' ', '')}:{n}" for tag, n in row.tags.items()),
    }
    if row.ratio is not None:
        width = stats.half_width(row.ratio)
        out["ratio_half_width"] = "" if width is None else repr(width)
        needed = stats.samples_for([row.colds[block] / row.warms[block] for block in row.colds], WANTED)
        out["samples_for_5_percent"] = "" if needed is None else needed
        out["outliers"] = " ".join(f"{name}:{block}" for name, blocks in row.outliers.items() for block in blocks)
    if row.to_steady_s is not None:
        out["to_steady_s"] = repr(row.to_steady_s)
    if row.with_added is not None:
        out["added"] = row.with_added.many
        out["added_cold_s"], out["added_warm_s"] = (
            repr(row.with_added.cold.centre),
            repr(row.with_added.warm.centre),
        )
    return out


def _limits(samples: Sequence[Sample]) -> dict[str, object]:
    """Return how much CPU the workers had and how many threads the framework was asked for."""
    facts = next((each.facts for each in samples if "cpus" in each.facts), None)
    if facts is None:
        return {}
    onednn = facts.get("onednn", "")
    return {"effective_cpus": facts["cpus"]["effective"], "threads": facts["intra_op_threads"], "onednn": onednn}


def _spread(line: dict[str, object], name: str, estimate: Estimate | None, unit: str) -> None:
    if estimate is None:
        return
    for suffix, value in (("", estimate.centre), ("_low", estimate.low), ("_high", estimate.high)):
        line[f"{name}{suffix}{unit}"] = "" if value is None else repr(value)


def _cells(cell_rows: Sequence[CellRow]) -> Table:
    body: list[list[object]] = []
    for row in cell_rows:
        if row.cold and row.warm and row.ratio:
            mark = "*" if row.not_steady else ""
            numbers = [
                units.seconds(row.cold.centre),
                units.seconds(row.warm.centre) + mark,
                units.with_interval(row.ratio),
            ]
        else:
            numbers = ["-", "-", "-"]
        tagged = f" ({row.tagged}!)" if row.tagged else ""
        body.append([row.cell.target, row.cell.placement, row.cell.n, *numbers, _samples(row.count) + tagged])
    header = ["target", "via", "n", "cold", "warm", "cold/warm [95 %]", "samples"]
    return Table(header, body, "llrrrll")


def _long(cell_rows: Sequence[CellRow], target_rows: Sequence[TargetRow]) -> Table:
    """Return one table with a row for each cell: every time with its interval, and what qualifies it."""
    fresh = {row.cell.id: row for row in target_rows}
    body: list[list[object]] = []
    for row in cell_rows:
        once = fresh.get(row.cell.id)
        first, start = (once.first_result, once.start_up) if once else (None, None)
        warm = _time(row.warm) + ("*" if row.not_steady else "")
        body.append(
            [
                *(row.cell.target, row.cell.placement, row.cell.n),
                *(_time(start), _time(first), _samples(once.count) if once else "-"),
                *(_time(row.cold), warm, units.with_interval(row.ratio) if row.ratio else "-"),
                *(_samples(row.count), ", ".join(f"{tag} {many}" for tag, many in row.tags.items())),
            ]
        )
    header = ["target", "via", "n", "start-up [95 %]", "first result [95 %]", "fresh samples"]
    header += ["cold [95 %]", "warm [95 %]", "cold/warm [95 %]", "samples", "tags"]
    return Table(header, body, "llrllllllll")


def _time(estimate: Estimate | None) -> str:
    return units.seconds_with_interval(estimate) if estimate else "-"


def _targets(target_rows: Sequence[TargetRow]) -> Table:
    body: list[list[object]] = []
    for row in target_rows:
        first = units.seconds_with_interval(row.first_result) if row.first_result else "-"
        start = units.seconds_with_interval(row.start_up) if row.start_up else "-"
        body.append([row.cell.target, row.cell.placement, row.cell.n, first, start, _samples(row.count)])
    header = ["target", "via", "n", "first result [95 %]", "start-up [95 %]", "samples"]
    return Table(header, body, "llrlll")


def _phases(target_rows: Sequence[TargetRow]) -> Iterator[Table]:
    every = [row for row in target_rows if row.phases_s]
    # Of equal width, so that no cell stands alone.
    tables = math.ceil(len(every) / PHASE_COLUMNS)
    width = math.ceil(len(every) / tables)
    for first in range(0, len(every), width):
        shown = every[first : first + width]
        body: list[list[object]] = []
        for name in PHASES:
            if any(name in row.phases_s for row in every):
                values = [units.seconds(row.phases_s[name]) if name in row.phases_s else "-" for row in shown]
                body.append([name, *values])
        header = ["phase", *(f"{row.cell.target}\n{row.cell.placement} {row.cell.n}" for row in shown)]
        yield Table(header, body, "l" + "r" * len(shown))


def _samples(count: Count) -> str:
    if count.status == "ok":
        return count.text()
    return count.status if count.ok == 0 else f"{count.ok}/{count.planned} {count.status}"
