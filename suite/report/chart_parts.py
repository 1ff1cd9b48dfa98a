# SPDX-License-Identifier: Apache-2.0
"""The charts of one run with their keys, and beside each the table of its numbers: for its own page and others."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from suite import units
from suite.report import cells, figures, sections
from suite.report.figures import Drawn
from suite.report.markup import Child, Markup, element, table
from suite.report.page import identity, key, numbers
from suite.report.view import View

BESIDE = "The numbers of these charts"


@dataclass(frozen=True)
class Arm:
    """Which of a page's runs it is: its place stands in ids, its name in what a table is called."""

    place: int
    name: str


def against_n(view: View, arm: Arm | None = None) -> list[Child]:
    """Return cold and warm against n; nothing where no cell shows a time. ``arm``: on a page of several runs."""
    if not view.groups:
        return []
    body = [
        [
            f"{group.name} {row.cell.n}",
            *(units.seconds_with_interval(each) for each in (row.cold, row.warm) if each),
        ]
        for group in view.groups
        for row in group.rows
    ]
    entries = key(
        ("cold round", "cold, circles"), ("warm", "warm, squares and dashes"), ("range", "bars: 95 % intervals")
    )
    made = table(_of("Time against n", arm), ["cell", "cold", "warm"], body)
    return [entries, sections.charted(_named(figures.against_n(view), arm)), numbers(BESIDE, made)]


def first(view: View, arm: Arm | None = None) -> list[Child]:
    """Return what a process pays once, and below it the waterfalls; nothing where there was no fresh sample."""
    body = [
        [
            f"{row.cell.target} {row.cell.placement} {row.cell.n}",
            units.seconds_with_interval(row.first_result) if row.first_result else "-",
            units.seconds_with_interval(row.start_up) if row.start_up else "-",
            cells.status_text(row.count),
        ]
        for row in view.targets
    ]
    if not body:
        return []
    caption = "First result: spawn to the first scalar. Start-up: first result less cold, at the smallest n."
    children: list[Child] = [table(_of(caption, arm), ["cell", "first result", "start-up", "samples"], body)]
    if view.first:
        # Below the head of a section, or of an arm's part of one.
        level = "h4" if arm else "h3"
        children += [
            element(level, "Where the first result's time went: the median sample of each"),
            key(
                ("process", "paid by a process"),
                ("cold", "paid by the shape: build, compile, first execution"),
                ("untimed", "untimed: in no phase"),
            ),
            sections.charted(_named(figures.first_results(view), arm)),
            numbers(BESIDE, _phase_table(view, arm)),
        ]
    return children


def _phase_table(view: View, arm: Arm | None) -> Markup:
    names = list(dict.fromkeys(step.name for _, found in view.first for step in found.steps))
    names.sort(key="untimed".__eq__)
    lengths = [{step.name: step.total_s for step in found.steps} for _, found in view.first]
    body: list[list[Child]] = [
        [name, *(units.seconds(each[name]) if name in each else "-" for each in lengths)] for name in names
    ]
    body.append(["first result", *(units.seconds(found.first_result_s) for _, found in view.first)])
    header = ["phase", *(f"{row.cell.target} {row.cell.placement} {row.cell.n}" for row, _ in view.first)]
    return table(_of("Phases of the median samples", arm), header, body)


def spread(view: View, arm: Arm | None = None) -> list[Child]:
    """Return the spread over processes; nothing where no cell shows a time."""
    if not view.groups:
        return []
    body = [
        [f"{group.name} {dots.n} {dots.name}", *(", ".join(units.seconds(value) for _, value in dots.values),)]
        for group in view.groups
        for dots in group.dots()
    ]
    return [
        element("p", "A dot is a process; the upright bar is their geometric mean, a cross marks an outlier."),
        key(("cold round", "cold, circles"), ("warm", "warm, squares")),
        sections.charted(_named(figures.spread(view), arm)),
        numbers(BESIDE, table(_of("A value a process", arm), ["cell", "by block"], body)),
    ]


def warm(view: View, arm: Arm | None = None) -> list[Child]:
    """Return the warm series of each sample; nothing where no cell shows a time."""
    if not view.warm:
        return []
    body = [
        [
            f"{row.cell.target} {row.cell.placement} {row.cell.n}",
            *(str(each.block), str(each.calls), units.seconds(each.warm_s), each.text()),
        ]
        for row, drawn in view.warm
        for each in drawn
    ]
    header = ["cell", "block", "calls", "warm", "steadiness and tags"]
    return [
        key(
            ("warm", "median of neighboring calls"),
            ("range", "from their quickest to their slowest"),
            ("steady", "segment that warm is the median of"),
            ("cold", "triangles: beyond the row"),
        ),
        sections.charted(_named(figures.warm_series(view), arm)),
        numbers(BESIDE, table(_of("Warm series", arm), header, body)),
    ]


def _named(drawn: Sequence[Drawn], arm: Arm | None) -> list[Drawn]:
    if arm is None:
        return list(drawn)
    return [dataclasses.replace(each, name=identity("run", arm.place, each.name)) for each in drawn]


def _of(caption: str, arm: Arm | None) -> str:
    return f"{arm.name}: {caption}" if arm else caption
