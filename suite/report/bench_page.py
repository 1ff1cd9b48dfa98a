# SPDX-License-Identifier: Apache-2.0
"""The report of a run of the isolated protocol: its sections, in the order in which they are asked for."""

from __future__ import annotations

from collections.abc import Sequence

from suite import standing
from suite.records import Reason
from suite.remarks import remarks
from suite.report import cells, chart_parts, sections, sentence
from suite.report.markup import Child, Markup, element
from suite.report.page import Section, page
from suite.report.view import View
from suite.rows import CellRow


def bench_page(view: View) -> str:
    """Return the whole report of a run."""
    run = view.run
    under: list[Child] = [element("p", sentence.coverage(view), class_="under")]
    under += [*sections.marks(run, view.samples), sections.which(run)]
    found = [
        Section("cells", "What a shape pays once, and then", [_cells(view)]),
        _withheld(view),
        _section("time", "Time against n", chart_parts.against_n(view)),
        _section("first", "What a process pays once", chart_parts.first(view)),
        _section("spread", "Spread over processes", chart_parts.spread(view)),
        _section("warm", "The warm series of each sample", chart_parts.warm(view)),
        _notes(view),
        sections.again(run),
        sections.environment(run, view.samples),
    ]
    parts = [each for each in found if each is not None]
    return page(str(run.stack.get("name", "")), sentence.verdict(view), under, parts)


def _section(id_: str, title: str, children: Sequence[Child]) -> Section | None:
    return Section(id_, title, children) if children else None


def _cells(view: View) -> Markup:
    heads: list[cells.Head] = [
        *(("target", False), ("n", True), ("cold", True), ("warm", True), ("cold/warm", True)),
        *(("samples", False), ("tags and marks", None)),
    ]
    caption = (
        "Geometric means over processes; in brackets 95 % intervals, same unit. "
        "cold: build, compile and first execution, after start-up; warm: the same call again."
    )
    return cells.sortable("sorted", "Cells", caption, heads, [_cell(row) for row in view.cells])


def _cell(row: CellRow) -> Markup:
    cell = row.cell
    return element(
        "tr",
        cells.named(cell.target, cell.placement, [cells.status_text(row.count), *cells.marks(row)]),
        cells.number(cell.n),
        cells.time(row.cold),
        cells.time(row.warm, mark="*" if row.not_steady else ""),
        cells.ratio(row.ratio),
        cells.status(row.count),
        cells.tags(row),
    )


def _withheld(view: View) -> Section | None:
    """Return the cells without a time, those that differ in size alone together."""
    alike: dict[tuple[str, str, str, Reason | None], list[str]] = {}
    for each in view.withheld:
        where = f"{each.cell.target} {each.cell.placement}"
        alike.setdefault((where, each.what, f"{each.status} ({each.count})", each.reason), []).append(
            str(each.cell.n)
        )
    return sections.withheld(
        [
            (
                f"{where} {', '.join(sizes)}, {what}",
                status,
                f"{reason.text}. {reason.next_step}".rstrip() if reason else "",
                (reason.raw_file if reason else None) or "",
            )
            for (where, what, status, reason), sizes in alike.items()
        ]
    )


def _notes(view: View) -> Section | None:
    rows = [row for row in view.cells if row.count.shows_times]  # the others have a section of their own
    targets = [row for row in view.targets if row.count.shows_times]
    return sections.notes([*remarks(view.samples, rows, targets), *standing.notes(view.run), *view.notes])
