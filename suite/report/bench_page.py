# SPDX-License-Identifier: Apache-2.0
"""The report of a run of the isolated protocol: its sections, in the order in which they are asked for."""

from __future__ import annotations

from suite import standing, units
from suite.records import Reason
from suite.remarks import remarks
from suite.report import figures, sections, sentence
from suite.report.markup import Child, Markup, element, joined, scrolled, table
from suite.report.page import Section, key, numbers, page
from suite.report.view import View
from suite.rows import CellRow
from suite.stats import Estimate


def bench_page(view: View) -> str:
    """Return the whole report of a run."""
    run = view.run
    under: list[Child] = [element("p", sentence.coverage(view), class_="under")]
    under += [*sections.marks(run, view.samples), sections.which(run)]
    found = [
        Section("cells", "What a shape pays once, and then", [_cells(view)]),
        _withheld(view),
        _against_n(view),
        _first(view),
        _spread(view),
        _warm(view),
        _notes(view),
        sections.again(run),
        sections.environment(run, view.samples),
    ]
    parts = [each for each in found if each is not None]
    return page(str(run.stack.get("name", "")), sentence.verdict(view), under, parts)


def _cells(view: View) -> Markup:
    heads = (
        ("target", False),
        ("n", True),
        ("cold", True),
        ("warm", True),
        ("cold/warm", True),
        ("samples", False),
    )
    columns = [
        element(
            "th",
            element("button", name, type="button", disabled=True),
            scope="col",
            class_="number" if number else None,
            data_numbers=number,
        )
        for name, number in heads
    ]
    columns.append(element("th", "tags and marks", scope="col"))
    body = [_cell(row) for row in view.cells]
    caption = (
        "Geometric means over processes; in brackets 95 % intervals, same unit. "
        "cold: build, compile and first execution, after start-up; warm: the same call again."
    )
    made = element(
        "table",
        element("caption", element("span", caption)),
        element("thead", element("tr", columns)),
        element("tbody", body),
        class_="cells sortable",
        data_said="sorted",
    )
    said = element("p", id="sorted", class_="under", role="status", aria_live="polite")
    return joined([scrolled(made, "Cells"), said])


def _cell(row: CellRow) -> Markup:
    cell, count = row.cell, row.count
    bad = not count.shows_times
    # Shown as "9/10 ok"; a status beside it where there is no time.
    status = count.text() if not bad else f"{count.status} ({count.text()})"
    return element(
        "tr",
        element(
            *("th", cell.target, element("small", cell.placement), _narrow(status, row)),
            scope="row",
            data_value=f"{cell.target} {cell.placement}",
        ),
        element("td", str(cell.n), class_="number", data_value=cell.n),
        _time(row.cold),
        _time(row.warm, "*" if row.not_steady else ""),
        _ratio(row.ratio),
        element("td", element("span", status, class_="status bad" if bad else "status"), data_value=status),
        element("td", [element("span", each, class_="tag") for each in marks(row)]),
    )


def _narrow(status: str, row: CellRow) -> Markup:
    """Return status and marks once more, where a phone shows them without scrolling; a screen reader has heard them."""
    marked = [element("small", each, class_="narrow", aria_hidden="true") for each in (status, *marks(row))]
    return joined(marked)


def _time(estimate: Estimate | None, mark: str = "") -> Markup:
    if estimate is None:
        return element("td", "-", class_="number", data_value="")
    return _number(units.seconds(estimate.centre) + mark, units.seconds_with_interval(estimate), estimate)


def _ratio(estimate: Estimate | None) -> Markup:
    if estimate is None:
        return element("td", "-", class_="number", data_value="")
    return _number(units.significant(estimate.centre), units.with_interval(estimate), estimate)


def _number(text: str, whole: str, estimate: Estimate) -> Markup:
    begin = whole.find("[")
    interval = whole[begin : whole.find("]") + 1] if begin >= 0 else "no interval"
    return element("td", text, element("small", interval), class_="number", data_value=repr(estimate.centre))


def marks(row: CellRow) -> list[str]:
    """Return what qualifies a cell's numbers, in a few words each."""
    of = row.count.ok
    found = [f"* {state} {many}/{of}" for state, many in row.not_steady.items()]
    found += [f"! {tag} {many}/{row.count.planned}" for tag, many in row.tags.items()]
    found += [f"outlier: {name}, block {', '.join(map(str, at))}" for name, at in row.outliers.items()]
    if row.bytecode_incomplete:
        found.append("bytecode incomplete")
    if row.with_added is not None:
        found.append(f"{row.with_added.many} taken again")
    return found


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


def _against_n(view: View) -> Section | None:
    if not view.groups:
        return None
    body = [
        [
            f"{group.name} {row.cell.n}",
            *(units.seconds_with_interval(each) for each in (row.cold, row.warm) if each),
        ]
        for group in view.groups
        for row in group.rows
    ]
    return Section(
        "time",
        "Time against n",
        [
            key(
                ("cold round", "cold, circles"),
                ("warm", "warm, squares and dashes"),
                ("range", "bars: 95 % intervals"),
            ),
            sections.charted(figures.against_n(view)),
            numbers("The numbers of these charts", table("Time against n", ["cell", "cold", "warm"], body)),
        ],
    )


def _first(view: View) -> Section | None:
    body = [
        [
            f"{row.cell.target} {row.cell.placement} {row.cell.n}",
            units.seconds_with_interval(row.first_result) if row.first_result else "-",
            units.seconds_with_interval(row.start_up) if row.start_up else "-",
            row.count.text() if row.count.shows_times else f"{row.count.status} ({row.count.text()})",
        ]
        for row in view.targets
    ]
    if not body:
        return None
    caption = "First result: spawn to the first scalar. Start-up: first result less cold, at the smallest n."
    children: list[Child] = [table(caption, ["cell", "first result", "start-up", "samples"], body)]
    if view.first:
        children += [
            element("h3", "Where the first result's time went: the median sample of each"),
            key(
                ("process", "paid by a process"),
                ("cold", "paid by the shape: build, compile, first execution"),
                ("untimed", "untimed: in no phase"),
            ),
            sections.charted(figures.first_results(view)),
            numbers("The numbers of these charts", _phase_table(view)),
        ]
    return Section("first", "What a process pays once", children)


def _phase_table(view: View) -> Markup:
    names = list(dict.fromkeys(step.name for _, found in view.first for step in found.steps))
    names.sort(key="untimed".__eq__)
    lengths = [{step.name: step.total_s for step in found.steps} for _, found in view.first]
    body: list[list[Child]] = [
        [name, *(units.seconds(each[name]) if name in each else "-" for each in lengths)] for name in names
    ]
    body.append(["first result", *(units.seconds(found.first_result_s) for _, found in view.first)])
    header = ["phase", *(f"{row.cell.target} {row.cell.placement} {row.cell.n}" for row, _ in view.first)]
    return table("Phases of the median samples", header, body)


def _spread(view: View) -> Section | None:
    if not view.groups:
        return None
    body = [
        [f"{group.name} {dots.n} {dots.name}", *(", ".join(units.seconds(value) for _, value in dots.values),)]
        for group in view.groups
        for dots in group.dots()
    ]
    return Section(
        "spread",
        "Spread over processes",
        [
            element("p", "A dot is a process; the upright bar is their geometric mean, a cross marks an outlier."),
            key(("cold round", "cold, circles"), ("warm", "warm, squares")),
            sections.charted(figures.spread(view)),
            numbers("The numbers of these charts", table("A value a process", ["cell", "by block"], body)),
        ],
    )


def _warm(view: View) -> Section | None:
    if not view.warm:
        return None
    body = [
        [
            f"{row.cell.target} {row.cell.placement} {row.cell.n}",
            *(str(each.block), str(each.calls), units.seconds(each.warm_s), each.text()),
        ]
        for row, drawn in view.warm
        for each in drawn
    ]
    header = ["cell", "block", "calls", "warm", "steadiness and tags"]
    return Section(
        "warm",
        "The warm series of each sample",
        [
            key(
                ("warm", "median of neighboring calls"),
                ("range", "from their quickest to their slowest"),
                ("steady", "segment that warm is the median of"),
                ("cold", "triangles: beyond the row"),
            ),
            sections.charted(figures.warm_series(view)),
            numbers("The numbers of these charts", table("Warm series", header, body)),
        ],
    )


def _notes(view: View) -> Section | None:
    cells = [row for row in view.cells if row.count.shows_times]  # the others have a section of their own
    targets = [row for row in view.targets if row.count.shows_times]
    return sections.notes([*remarks(view.samples, cells, targets), *standing.notes(view.run), *view.notes])
