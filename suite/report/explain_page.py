# SPDX-License-Identifier: Apache-2.0
"""The report of an explanation: what a cell's first call was spent on, as a waterfall, with all that it rests on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from suite import journal, units
from suite.explain import explanation, say, sheet
from suite.explain.explanation import Explained, Explanation
from suite.records import Run, Sample
from suite.report import charts, machine, sections
from suite.report.figures import Drawn
from suite.report.markup import Child, element, table
from suite.report.page import Section, identity, key, numbers, page
from suite.report.waterfall import Step, Waterfall, waterfall


def explain_page(folder: Path) -> str:
    """Return the whole report of an explanation's folder. Raises :class:`suite.journal.Unreadable`."""
    found, run, samples = _read(folder)
    parts: list[Section | None] = []
    for each in found.cells:
        parts += _cell(each, run, samples)
    parts += [
        sections.notes(found.notes),
        sections.commands(
            "The command that made this explanation:", machine.shell(found.experiment.command), [run]
        ),
        sections.environment(run, samples),
    ]
    how = f"{len(found.experiment.arms)} arms, {run.plan.samples} blocks of fresh processes, interleaved."
    under: list[Child] = [element("p", f"{how} {found.experiment.id}.", class_="under")]
    if found.missing:
        under.append(
            element("p", f"PARTIAL: {found.missing} planned samples were not taken", class_="under partial")
        )
    under.append(element("p", f"{run.stack.get('title', '')}.", class_="under"))
    title = f"Why the first run of {run.stack.get('name', '')} is slow"
    return page(title, verdict(found), under, [each for each in parts if each is not None])


def verdict(found: Explanation) -> str:
    """Return the sentence that stands at the top."""
    return " ".join(say.headline(each) for each in found.cells)


def figures(folder: Path) -> list[Drawn]:
    """Return the figures of an explanation's report. Raises :class:`suite.journal.Unreadable`."""
    found, _, samples = _read(folder)
    return [drawn for each in found.cells for drawn in _drawn(each, samples)]


def _read(folder: Path) -> tuple[Explanation, Run, list[Sample]]:
    found = explanation.read(folder)
    first = found.experiment.arms[0]
    samples, _ = journal.read_samples(folder / first.folder)
    return found, found.runs[first.name], samples


def _cell(each: Explained, run: Run, samples: Sequence[Sample]) -> list[Section | None]:
    name, mark = say.cell(each.cell), identity(each.cell.id)
    if each.cold is None:
        reason = each.count.reason
        raw = (reason.raw_file or "") if reason else ""
        return [sections.withheld([(name, each.count.status, reason.text if reason else "", raw)])]
    said = [element("p", line) for line in [*say.verdict(each), *say.account_notes(each)]]
    drawn = _drawn(each, samples)
    spent: list[Child] = [
        *said,
        key(
            ("cold", "a proven cause"),
            ("untimed", "unattributed"),
            ("process", "a warm call, or paid by a process"),
        ),
        sections.charted(drawn),
        numbers("The numbers of the first chart", table("The account of cold", *_rows(sheet.account_rows(each)))),
        numbers("The numbers of the second chart", table("Phases, medians", *_rows(sheet.phase_rows(each)))),
    ]
    ablated: list[Child] = [
        table("What each ablation did: cold falls by, warm times", *_rows(sheet.ablation_rows(each))),
        element(
            "ul",
            [element("li", line) for line in [*say.beside_another(each), *say.reasons(each)]],
            class_="notes",
        ),
    ]
    lines = sheet.remedy_lines(each)
    remedies: list[Child] = [
        table("Measured in fresh processes", *_rows(sheet.remedy_rows(each))),
        element("ul", [element("li", line) for line in [*lines, *sheet.break_even_lines(each)]], class_="notes"),
    ]
    return [
        Section(f"spent-{mark}", f"What it was spent on: {name}", spent),
        Section(f"ablations-{mark}", f"What each ablation did: {name}", ablated),
        Section(f"remedies-{mark}", f"Remedies: {name}", remedies),
    ]


def _rows(made: tuple[list[str], list[list[str]]]) -> tuple[list[str], list[list[Child]]]:
    header, body = made
    return header, [list(line) for line in body]


def _drawn(each: Explained, samples: Sequence[Sample]) -> list[Drawn]:
    out = []
    account = spent(each)
    if account is not None:
        said = ", ".join(f"{step.name} {units.seconds(step.total_s)}" for step in account.steps)
        out.append(
            Drawn(
                identity("account", each.cell.id),
                "Cold, by cause",
                f"{say.cell(each.cell)}, {units.seconds(account.first_result_s)}",
                f"Waterfall of cold by cause, {say.cell(each.cell)}: {said}.",
                lambda: charts.phases(account),
            )
        )
    fresh = [sample for sample in samples if sample.kind == "fresh" and sample.cell == each.cell.id]
    first = waterfall(fresh)
    if first is not None:
        said = ", ".join(f"{step.name} {units.seconds(step.total_s)}" for step in first.steps)
        out.append(
            Drawn(
                identity("first", each.cell.id),
                "First result, by phase",
                f"{say.cell(each.cell)}, {units.seconds(first.first_result_s)}",
                f"Waterfall of {first.sample}: {said}.",
                lambda: charts.phases(first),
            )
        )
    return out


def spent(each: Explained) -> Waterfall | None:
    """Return the account as a waterfall: a warm call, each proven cause, what is unattributed; means, in a row."""
    found = each.account
    if found is None or each.warm is None:
        return None
    parts = [("a warm call", "process", each.warm.centre)]
    parts += [
        (entry.name, "shape", entry.drawn.centre)
        for entry in found.entries
        if entry.proven and entry.drawn.centre > 0
    ]
    parts.append(("unattributed", "untimed", max(0.0, found.unattributed_s.centre)))
    steps, reached = [], 0.0
    for name, kind, length in parts:
        steps.append(Step(name, kind, [(reached, reached + length)], length))
        reached += length
    return Waterfall("the account", reached, steps, len(found.blocks))
