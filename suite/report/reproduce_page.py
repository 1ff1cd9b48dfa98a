# SPDX-License-Identifier: Apache-2.0
"""The report of a run of the reproduce protocol: the question's snippet, beside the question's numbers."""

from __future__ import annotations

from collections.abc import Sequence

from suite import pairs, standing, stats, units
from suite.pairs import PairRow
from suite.question import question
from suite.records import Run, Sample
from suite.report import charts, sections
from suite.report.charts import Line
from suite.report.figures import Drawn
from suite.report.markup import Child, Markup, element, table
from suite.report.page import Section, identity, key, numbers, page
from suite.stats import Estimate

VERDICTS = {
    "reproduced": "Reproduced",
    "not_reproduced": "Not reproduced (a valid outcome)",
    "cannot_be_tested": "Cannot be tested here",
}


def reproduce_page(run: Run, samples: Sequence[Sample], notes: Sequence[str]) -> str:
    """Return the whole report of a run of the question's snippet."""
    rows = pairs.rows(run, samples, question())
    found = pairs.verdict(rows, question())
    many = run.plan.samples
    said = f"{many} process{'' if many == 1 else 'es'}; " + (
        "intervals are 95 % over processes." if many > 1 else "one process has no interval: REPEATS=5 runs five."
    )
    under: list[Child] = [element("p", said, class_="under"), *sections.marks(run, samples), sections.which(run)]
    parts = [
        Section("beside", "Beside the question", [_table(rows)]),
        _withheld(rows),
        _charts(rows),
        _lessons(run, samples, rows),
        sections.notes([*standing.notes(run), *notes]),
        sections.again(run),
        sections.environment(run, samples),
    ]
    verdict = f"{VERDICTS[found.kind]}: {found.text}."
    return page(str(run.stack.get("name", "")), verdict, under, [each for each in parts if each is not None])


def _table(rows: Sequence[PairRow]) -> Markup:
    body: list[list[Child]] = []
    for row in rows:
        asked = row.asked
        theirs = ["-"] * 3
        if asked:
            theirs = [f"{asked[0]:.2f} s", f"{asked[1]:.2f} s", units.significant(asked[0] / asked[1])]
        ours = [units.seconds_with_interval(each) if each else "-" for each in (row.first, row.rerun)]
        ours.append(units.with_interval(row.ratio) if row.ratio else "-")
        compiles = f"{row.compiles[0]}, {row.compiles[1]}" if row.compiles else "-"
        body.append([row.cell.target, str(row.cell.n), *theirs, *ours, compiles, row.status])
    header = ["target", "n", "its first", "its rerun", "its ratio", "first", "rerun", "first/rerun"]
    caption = "The question's seconds, then this machine's. rerun: all of it once more in the same process."
    return table(caption, [*header, "XLA compiles", "status"], body)


def _withheld(rows: Sequence[PairRow]) -> Section | None:
    alike: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        if row.status != "ok":
            alike.setdefault((row.cell.target, row.status, row.reason), []).append(str(row.cell.n))
    return sections.withheld(
        [(f"{target} {', '.join(sizes)}", status, reason, "") for (target, status, reason), sizes in alike.items()]
    )


def figures(rows: Sequence[PairRow]) -> list[Drawn]:
    """Return first and rerun against n for each target that was measured, the question's beside them."""
    measured = [row for row in rows if row.first and row.rerun]
    if not measured:
        return []
    by_target = {
        row.cell.target: [each for each in measured if each.cell.target == row.cell.target] for row in measured
    }
    lines = {target: _lines(found) for target, found in by_target.items()}
    limits = charts.reach([line for found in lines.values() for line in found])
    shapes = sorted({row.cell.n for row in measured})

    def of(target: str, found: Sequence[Line]) -> Drawn:
        said = "; ".join(
            f"{line.name} " + ", ".join(f"{units.seconds(e.centre)} at {n}" for n, e in line.at) for line in found
        )
        return Drawn(
            identity("pair", target),
            target,
            by_target[target][0].cell.device,
            f"Chart of time against n, {target}: {said}.",
            lambda: charts.against_n(found, shapes, limits),
        )

    return [of(target, found) for target, found in lines.items()]


def _lines(rows: Sequence[PairRow]) -> list[Line]:
    out = [
        Line("first", [(row.cell.n, row.first) for row in rows if row.first]),
        Line("rerun", [(row.cell.n, row.rerun) for row in rows if row.rerun]),
    ]
    asked = [(row.cell.n, row.asked) for row in rows if row.asked]
    for place, name in enumerate(("its first", "its rerun")):
        if asked:
            out.append(Line(name, [(n, stats.Estimate(both[place], None, None, 1)) for n, both in asked]))
    return out


def _charts(rows: Sequence[PairRow]) -> Section | None:
    drawn = figures(rows)
    if not drawn:
        return None
    entries = key(
        ("cold round", "first, circles"),
        ("warm", "rerun, squares and dashes"),
        ("range", "its first, its rerun: the question's, dotted"),
    )
    seconds: list[list[Child]] = [
        [f"{row.cell.target} {row.cell.n}", *(_seconds(each) for each in (row.first, row.rerun))]
        for row in rows
        if row.first
    ]
    beside = numbers("The numbers of these charts", table("Time against n", ["cell", "first", "rerun"], seconds))
    return Section("time", "Time against n", [entries, sections.charted(drawn), beside])


def _seconds(estimate: Estimate | None) -> str:
    return units.seconds_with_interval(estimate) if estimate else "-"


def _lessons(run: Run, samples: Sequence[Sample], rows: Sequence[PairRow]) -> Section | None:
    lessons = pairs.lessons(run, samples, rows)
    if not lessons:
        return None
    return Section(
        "lessons", "What these numbers show", [element("ul", [element("li", each) for each in lessons])]
    )
