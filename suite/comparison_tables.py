# SPDX-License-Identifier: Apache-2.0
"""The table of a comparison, for a terminal of 80 columns, for Markdown and as CSV. Same input, same bytes."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from suite import units
from suite.comparison import POWER, Row
from suite.document import Head, Items, Paragraph, Part, Table, Title, render
from suite.exits import Exit
from suite.layout import heading_of_machine
from suite.records import Comparison, Run
from suite.stats import Estimate

CSV_COLUMNS = (
    *("target", "placement", "n", "quantity", "a", "b", "a_ok", "b_ok", "planned"),
    *("a_s", "a_low_s", "a_high_s", "b_s", "b_low_s", "b_high_s"),
    *("ratio", "ratio_low", "ratio_high", "verdict", "reason", "p_adjusted", "detectable_ratio"),
)
DIFFERENT = ("FASTER", "SLOWER")


def text(
    comparison: Comparison, runs: Sequence[Run], rows: Sequence[Row], notes: Sequence[str], style: str
) -> str:
    """Return the whole of a selftest, in one of :data:`suite.document.FORMATS`."""
    if style == "csv":
        return as_csv(comparison, rows)
    name = runs[0].stack["name"]
    first = f"selftest of {name}: the stack against itself, interleaved"
    many = runs[0].plan.samples
    lines = [
        f"{comparison.id}, {many} sample{'' if many == 1 else 's'} a cell and side",
        *heading_of_machine(runs[0]),
    ]
    parts: list[Part] = [
        Head(first, lines),
        Title("One stack as a and as b"),
        _rows(rows),
        Title("Verdict"),
        Paragraph(passed(rows)),
    ]
    told = [*remarks(comparison, rows), *notes]
    if told:
        parts += [Title("Notes"), Items(told)]
    return render(parts, style)


def as_csv(comparison: Comparison, rows: Sequence[Row]) -> str:
    """Return the rows as CSV: seconds by repr, nothing where there is no number."""
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, CSV_COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        line: dict[str, object] = {
            "target": row.a.cell.target,
            "placement": row.a.cell.placement,
            "n": row.a.cell.n,
        }
        line.update(quantity=row.quantity, a=comparison.arms[0].name, b=comparison.arms[1].name)
        line.update(a_ok=row.a.count.ok, b_ok=row.b.count.ok, planned=row.a.count.planned)
        ours, theirs = row.estimates()
        for name, estimate, unit in (("a", ours, "_s"), ("b", theirs, "_s"), ("ratio", row.verdict.ratio, "")):
            _spread(line, name, estimate, unit)
        line.update(verdict=row.verdict.word, reason=row.verdict.reason)
        for name, value in (("p_adjusted", row.verdict.p_adjusted), ("detectable_ratio", row.detectable)):
            line[name] = "" if value is None else repr(value)
        writer.writerow(line)
    return file.getvalue()


def verdict(rows: Sequence[Row]) -> Exit:
    """Return the exit code of a selftest: SLOWER where any difference was found, whichever way it points."""
    if any(row.verdict.word in DIFFERENT for row in rows):
        return Exit.SLOWER
    return Exit.DONE if any(row.verdict.p_adjusted is not None for row in rows) else Exit.AMBIGUOUS


def _rows(rows: Sequence[Row]) -> Table:
    body: list[list[object]] = []
    for row in rows:
        ours, theirs = (units.seconds(each.centre) if each else "-" for each in row.estimates())
        ratio = units.with_interval(row.verdict.ratio) if row.verdict.ratio else "-"
        word = row.verdict.word
        if word == "AMBIGUOUS":
            word = "not told" if row.verdict.p_adjusted is None else "none found"  # type: ignore[assignment]
        body.append(
            [row.a.cell.target, row.a.cell.placement, row.a.cell.n, row.quantity, ours, theirs, ratio, word]
        )
    header = ["target", "via", "n", "time", "a", "b", "b/a [95 %]", "verdict"]
    return Table(header, body, "llrlrrll")


def passed(rows: Sequence[Row]) -> str:
    """Return the verdict of a selftest in a sentence."""
    tested = [row for row in rows if row.verdict.p_adjusted is not None]
    found = [row for row in tested if row.verdict.word in DIFFERENT]
    if found:
        where = "; ".join(f"{_where(row)}: {row.verdict.text}" for row in found)
        return (
            f"FAILED: {len(found)} of {len(tested)} comparisons of a stack with itself found a difference: {where}"
        )
    if not tested:
        return "NOT TOLD: no cell could be compared"
    return f"PASSED: no difference in {len(tested)} comparisons of the stack with itself"


def remarks(comparison: Comparison, rows: Sequence[Row]) -> list[str]:
    """Return the notes on a selftest, one sentence each."""
    lines = []
    known = [(row.detectable, row) for row in rows if row.detectable is not None]
    if known:
        least, best = min(known, key=lambda each: each[0])
        most, worst = max(known, key=lambda each: each[0])
        lines.append(
            f"smallest difference that so many samples find {POWER:.0%} of the time: {_percent(least)} "
            f"({_where(best)}) to {_percent(most)} ({_where(worst)})"
        )
    told = comparison.instrument
    if told:
        lines.append(
            f"clock: resolution {1e9 * told['resolution_s']:.0f} ns, smallest step seen {1e9 * told['step_s']:.0f} ns, "
            f"a reading costs {1e9 * told['reading_s']:.0f} ns"
        )
        lines.append(
            f"harness: a call of nothing is clocked as {1e9 * told['empty_call_s']:.0f} ns; a clocked call of the "
            f"series takes {1e9 * told['loop_s']:.0f} ns more than a bare one"
        )
    silent = [row for row in rows if row.verdict.p_adjusted is None and row.verdict.reason != "incomplete"]
    for reason in sorted({row.verdict.text for row in silent}):
        lines.append(f"not told: {reason}")
    for side in ("a", "b"):
        bad = [row for row in rows if row.quantity == "cold" and getattr(row, side).count.status != "ok"]
        for row in bad:
            count = getattr(row, side).count
            if count.status != "unavailable":
                lines.append(f"{side}: {_where(row)}: {count.status}: {count.reason.text if count.reason else ''}")
    return lines


def _where(row: Row) -> str:
    return f"{row.a.cell.target} {row.a.cell.placement} {row.a.cell.n} {row.quantity}"


def _percent(ratio: float) -> str:
    return f"{ratio - 1:.1%}" if ratio < 2 else f"a factor of {units.significant(ratio)}"


def _spread(line: dict[str, object], name: str, estimate: Estimate | None, unit: str) -> None:
    if estimate is None:
        return
    for suffix, value in (("", estimate.centre), ("_low", estimate.low), ("_high", estimate.high)):
        line[f"{name}{suffix}{unit}"] = "" if value is None else repr(value)
