# SPDX-License-Identifier: Apache-2.0
"""The whole text of a comparison: what was compared, the verdicts in a sentence each, tables, notes, the command."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from suite import compare_tables
from suite.compare_arms import Arm
from suite.compare_csv import as_csv
from suite.compare_rows import Compared, OneSided
from suite.comparison import QUANTITIES
from suite.document import Code, Items, Part, Title, render
from suite.gate import Difference
from suite.layout import heading_of_machine
from suite.records import Comparison

TABLE_MD = "table.md"
TABLE_CSV = "table.csv"
WORDS = ("FASTER", "SLOWER", "SAME", "AMBIGUOUS", "INCOMPARABLE")


def text(comparison: Comparison, compared: Compared, style: str = "simple", layout: str = "wide") -> str:
    """Return the comparison as text in one of :data:`suite.document.FORMATS`, wide or long."""
    if style == "csv":
        return as_csv(compared)
    parts = _long(comparison, compared) if layout == "long" else _wide(comparison, compared)
    return render(list(parts), style)


def files(comparison: Comparison, compared: Compared) -> dict[str, str]:
    """Return what is derived from a comparison, by the file's name."""
    return {TABLE_MD: text(comparison, compared, "github"), TABLE_CSV: as_csv(compared)}


def _wide(comparison: Comparison, compared: Compared) -> Iterator[Part]:
    yield from _heading(comparison, compared)
    yield from compare_tables.side_by_side(compared)
    yield from compare_tables.verdicts(compared)
    yield from _after(comparison, compared)


def _long(comparison: Comparison, compared: Compared) -> Iterator[Part]:
    yield from _heading(comparison, compared)
    yield Title("Every cell of every stack")
    yield compare_tables.long(compared)
    yield from _after(comparison, compared)


def _heading(comparison: Comparison, compared: Compared) -> Iterator[Part]:
    arms = compared.arms
    names = ", ".join(arm.name for arm in arms)
    yield Title(f"{names} side by side" if len(arms) <= 3 else f"{len(arms)} stacks side by side", 1)
    counts = sorted({arm.run.plan.samples for arm in arms})
    many = " or ".join(str(each) for each in counts)
    how = "interleaved in blocks, compared block by block" if comparison.paired else "stored runs, Welch's test"
    lines = [f"{comparison.id}: {many} sample{'' if many == '1' else 's'} a cell and stack; {how}"]
    lines += _machines(arms)
    if comparison.words.get("runs") is not None:
        lines += [f"{arm.name}: run {arm.run.run_id}" for arm in arms]
    sessions = max(arm.sessions for arm in arms)
    if sessions > 1 and comparison.words.get("runs") is None:
        lines.append(f"measured in {sessions} sessions (RESUME=)")
    for arm in arms:
        if arm.missing:
            of = len(arm.run.plan.planned)
            lines.append(f"PARTIAL: {arm.name} ended before {arm.missing} of {of} samples were taken")
    yield Items(lines)
    yield Title("What is compared (* the baseline)")
    yield compare_tables.stacks(compared)
    yield Title("Verdicts")
    yield Items([sentence(compared, arm) for arm in compared.others()])


def sentence(compared: Compared, arm: Arm) -> str:
    """Return what an arm says beside the baseline, in a sentence."""
    parts = []
    for quantity in QUANTITIES:
        mine = [each for each in compared.of(arm) if each.quantity == quantity]
        counted = [(word, sum(1 for each in mine if each.verdict.word == word)) for word in WORDS]
        said = ", ".join(f"{many} {word}" for word, many in counted if many)
        parts.append(f"{quantity} {said or 'not compared'}")
    return f"{arm.name} beside {compared.baseline.name}: {'; '.join(parts)}"


def _machines(arms: Sequence[Arm]) -> list[str]:
    """Return the lines on engine and machine, once where they are the same for all."""
    by_lines: dict[tuple[str, ...], list[str]] = {}
    for arm in arms:
        lines = (heading_of_machine(arm.run)[0], _machine(arm), *heading_of_machine(arm.run)[2:])
        by_lines.setdefault(lines, []).append(arm.name)
    if len(by_lines) == 1:
        return list(next(iter(by_lines)))
    return [f"{', '.join(names)}: {'; '.join(lines)}" for lines, names in by_lines.items()]


def _machine(arm: Arm) -> str:
    host = arm.run.host
    return f"{host.get('cpu_model', 'unknown CPU')}, {host.get('effective_cpus', '?')} CPUs"


def _after(comparison: Comparison, compared: Compared) -> Iterator[Part]:
    if compared.one_sided:
        yield Title("Only on one side, not compared")
        yield Items(one_sided(compared.one_sided))
    said = list(notes(comparison, compared))
    if said:
        yield Title("Notes")
        yield Items(said)
    shown = command(comparison)
    if shown:
        yield Title("To measure it again" if comparison.words.get("runs") is None else "To compare it again")
        yield Code(shown)


def one_sided(found: Sequence[OneSided]) -> list[str]:
    """Return a sentence for each cell or row of shapes that only one side has."""
    where: dict[tuple[str, str, str, str], list[int]] = {}
    for each in found:
        name = f"{each.row.cell.target} {each.row.cell.placement}"
        where.setdefault((name, each.there, each.missing, each.why), []).append(each.row.cell.n)
    by_missing: dict[tuple[str, str, str], list[str]] = {}
    by_there: dict[tuple[str, str, str], list[str]] = {}
    for (name, there, missing, why), sizes in where.items():
        cell = f"{name} {', '.join(str(n) for n in sizes)}"
        by_there.setdefault((cell, missing, why), []).append(there)
    for (cell, missing, why), theres in by_there.items():
        by_missing.setdefault((cell, ", ".join(theres), why), []).append(missing)
    return [
        f"{cell}: in {theres}, not in {', '.join(missing)} ({why})"
        for (cell, theres, why), missing in by_missing.items()
    ]


def notes(comparison: Comparison, compared: Compared) -> Iterator[str]:
    """Return the notes on a comparison, one sentence each; :func:`reasons` are among them."""
    yield from _of_gate(compared)
    yield from _of_placements(compared)
    if compared.not_recorded:
        yield f"not recorded on either side, so held to be the same: {', '.join(compared.not_recorded)}"
    yield from _of_cells(compared)
    yield from _of_facts(compared)
    yield from _of_versions(compared)
    yield _how(comparison, compared)
    for arm in compared.arms:
        for note in arm.notes:
            yield f"{arm.name}: {note}"


def _of_gate(compared: Compared) -> Iterator[str]:
    """Return what differs that must not, with both values: what was refused, and what ALLOW= let pass."""
    refused: dict[tuple[str, Difference], list[str]] = {}
    let_pass: dict[tuple[str, Difference], list[str]] = {}
    for each in compared.judged:
        if each.quantity == "cold":
            where = refused if each.verdict.word == "INCOMPARABLE" else let_pass
            for differs in each.differs:
                cell = f"{each.b.cell.target} {each.b.cell.placement} {each.b.cell.n}"
                where.setdefault((each.arm, differs), []).append(cell)
    for (arm, differs), cells in refused.items():
        allow = f"ALLOW={differs.field} compares all the same, marked"
        yield f"INCOMPARABLE: {arm}: {differs.text()} ({'; '.join(cells)}). {allow}"
    for (arm, differs), cells in let_pass.items():
        yield f"ALLOWED: {arm}: {differs.text()} ({'; '.join(cells)}): no plain speed-up, two things differ"


def _of_placements(compared: Compared) -> Iterator[str]:
    for each in compared.judged:
        ours, theirs = each.a.cell, each.b.cell
        if ours.placement != theirs.placement and each.quantity == "cold" and not each.differs:
            yield (
                f"{each.arm}: {theirs.target} {theirs.n} is {theirs.placement} beside {ours.placement}: "
                "the placement is what is compared"
            )
    if any(each.why.startswith("its ") for each in compared.one_sided):
        yield "two placements are two ways to run: ALLOW=placement sets them beside each other, marked"


def _of_cells(compared: Compared) -> Iterator[str]:
    """Return why cells have no times, and what qualifies those that have."""
    yield from reasons(compared)
    every = [(arm, row) for arm in compared.arms for row in arm.cells]
    unsteady: dict[str, list[str]] = {}
    tagged: dict[str, list[str]] = {}
    for arm, row in every:
        cell = f"{row.cell.target} {row.cell.placement} {row.cell.n}"
        for state, many in row.not_steady.items():
            unsteady.setdefault(arm.name, []).append(f"{cell} {state} {many}/{row.count.ok}")
        for tag, many in row.tags.items():
            tagged.setdefault(tag, []).append(f"{arm.name} {cell} {many}/{row.count.planned}")
    for name, cells in unsteady.items():
        yield f"* {name}: warm series that are not steady, taken by their last half: {'; '.join(cells)}"
    for tag, cells in tagged.items():
        yield f"! {tag}, kept in every figure: {'; '.join(cells)}"


def reasons(compared: Compared) -> Iterator[str]:
    """Return each distinct reason once, with the arms and cells that it holds for."""
    where: dict[str, dict[str, list[str]]] = {}
    for arm in compared.arms:
        for row in arm.cells:
            reason = row.count.reason
            if reason:
                text = f"{row.count.status}: {reason.text}. {reason.next_step}".rstrip()
                cells = where.setdefault(text, {}).setdefault(arm.name, [])
                cell = f"{row.cell.target} {row.cell.placement}"
                if cell not in cells:
                    cells.append(cell)
    for text, at in where.items():
        by_cells: dict[str, list[str]] = {}
        for name, cells in at.items():
            by_cells.setdefault(", ".join(cells), []).append(name)
        said = "; ".join(f"{', '.join(names)}: {cells}" for cells, names in by_cells.items())
        yield f"{said}: {text}"


def _of_facts(compared: Compared) -> Iterator[str]:
    for name in ("onednn", "optimizer"):
        told = {arm.name: arm.facts[name] for arm in compared.arms if name in arm.facts}
        if len(set(told.values())) > 1:
            by_value: dict[str, list[str]] = {}
            for arm, value in told.items():
                by_value.setdefault(value, []).append(arm)
            said = "; ".join(f"{value}: {', '.join(arms)}" for value, arms in by_value.items())
            yield f"{name}, by each stack's default: {said}"


def _of_versions(compared: Compared) -> Iterator[str]:
    """Return what of the measuring itself was not the same in stored runs; none of it gates."""
    workers = {str(arm.run.coldwarm.get("worker_tree_sha256")) for arm in compared.arms}
    if len(workers) > 1:
        yield f"measured by {len(workers)} versions of the worker"
    series = {(arm.run.plan.warm_min_calls, arm.run.plan.warm_s) for arm in compared.arms}
    if len(series) > 1:
        said = " and ".join(f"{calls} calls or {seconds:g} s" for calls, seconds in sorted(series))
        yield f"warm series of different length: at least {said}"


def _how(comparison: Comparison, compared: Compared) -> str:
    margin = comparison.judging.margin
    tests = sum(1 for each in compared.judged if each.verdict.p_adjusted is not None)
    same = (
        f"SAME needs the interval within {margin:.3g} of 1" if margin else "no margin is given, so nothing is SAME"
    )
    return f"ratios are stack over baseline, below 1 is faster; Holm over {tests} tests at 5 %; {same}"


def command(comparison: Comparison) -> str:
    """Return the line that makes the comparison again, or "" where its words were not kept."""
    if not comparison.words:
        return ""
    first = ("runs", "stacks")
    names = [*(each for each in first if each in comparison.words)]
    names += sorted(each for each in comparison.words if each not in first)
    return " ".join(["make compare", *(f"{name.upper()}={shlex.quote(comparison.words[name])}" for name in names)])
