# SPDX-License-Identifier: Apache-2.0
"""What ``reproduce`` prints: the snippet's own lines, its tables beside the question's, verdict and lesson."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from datetime import timedelta

from suite import pairs, standing, units
from suite.document import Code, Items, Paragraph, Part, Table, Title, View, render
from suite.layout import heading
from suite.pairs import PairRow
from suite.question import Question, question
from suite.records import PASSES, Run, Sample

CSV_COLUMNS = (
    *("stack", "target", "device", "n", "status", "reason", "processes"),
    *("question_first_s", "question_rerun_s"),
    *("first_s", "first_low_s", "first_high_s", "rerun_s", "rerun_low_s", "rerun_high_s"),
    *("ratio", "ratio_low", "ratio_high", "compiles_first", "compiles_rerun"),
)

KINDS = {
    "reproduced": "REPRODUCED",
    "not_reproduced": "NOT REPRODUCED (a valid outcome)",
    "cannot_be_tested": "CANNOT BE TESTED HERE",
}


def text(run: Run, samples: Sequence[Sample], notes: Sequence[str] = (), view: View | None = None) -> str:
    """Return the whole report as text, in one of :data:`suite.document.FORMATS`; its layout is the same always."""
    view = view or View()
    if view.style == "csv":
        return as_csv(run, samples)
    return render(list(_parts(run, samples, notes)), view.style)


def _parts(run: Run, samples: Sequence[Sample], notes: Sequence[str]) -> Iterator[Part]:
    asked = question()
    rows = pairs.rows(run, samples, asked)
    yield heading(run, samples)
    yield Title("Machines")
    yield Items(_machines(run, samples, asked))
    for which in PASSES:
        printed = _printed(samples, which)
        if printed:
            yield Title("What the snippet printed" if which == PASSES[0] else "The same cell executed again")
            yield Code(printed, language="")
    yield Title("Beside the question (its seconds, then this machine's)")
    yield _beside(rows)
    found = pairs.verdict(rows, asked)
    yield Title("Verdict")
    yield Paragraph(f"{KINDS[found.kind]}: {found.text}.")
    lessons = pairs.lessons(run, samples, rows)
    if lessons:
        yield Title("What these numbers show")
        yield Items(lessons)
    told = [*_reasons(rows), *_interval(run), *_load(samples), *standing.notes(run), *notes]
    if told:
        yield Title("Notes")
        yield Items(told)


def as_csv(run: Run, samples: Sequence[Sample]) -> str:
    """Return the rows as CSV: seconds by repr, nothing where there is no number."""
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, CSV_COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in pairs.rows(run, samples, question()):
        line: dict[str, object] = {"stack": row.cell.stack, "target": row.cell.target, "device": row.cell.device}
        line.update(n=row.cell.n, status=row.status, reason=row.reason, processes=row.first.n if row.first else "")
        if row.asked:
            line["question_first_s"], line["question_rerun_s"] = (repr(each) for each in row.asked)
        estimates = (("first", row.first, "_s"), ("rerun", row.rerun, "_s"), ("ratio", row.ratio, ""))
        for name, estimate, unit in estimates:
            if estimate is None:
                continue
            for suffix, value in (("", estimate.centre), ("_low", estimate.low), ("_high", estimate.high)):
                line[f"{name}{suffix}{unit}"] = "" if value is None else repr(value)
        if row.compiles:
            line["compiles_first"], line["compiles_rerun"] = row.compiles
        writer.writerow(line)
    return file.getvalue()


def _machines(run: Run, samples: Sequence[Sample], asked: Question) -> list[str]:
    machine = asked.machine
    theirs = ", ".join(_device(each.name, each.memory_limit) for each in machine.devices)
    listed = [each.facts["local_devices"] for each in samples if "local_devices" in each.facts]
    local = listed[0] if listed else []
    ours = ", ".join(_device(each["name"], each["memory_limit"]) for each in local) or "not listed"
    return [
        f"The question: {machine.stack}, {machine.text}; {machine.gpu}. Devices: {theirs}.",
        f"Here: {_gpus(run)}. Devices: {ours}.",
    ]


def _device(name: str, memory_limit: int | None) -> str:
    short = name.replace("/device:", "")
    return f"{short} ({memory_limit / 2**20:.0f} MiB)" if memory_limit else short


def _gpus(run: Run) -> str:
    nvidia = run.host.get("nvidia", {})
    found = nvidia.get("gpus", [])
    if not found:
        return str(nvidia.get("why", "no GPU known"))
    return "; ".join(
        f"{gpu['name']}, {gpu.get('memory.used', '?')} of {gpu.get('memory.total', '?')} MiB in use, "
        f"driver {gpu['driver_version']}, {gpu.get('pstate', '?')}, compute mode {gpu.get('compute_mode', '?')}, "
        f"compute capability {gpu.get('compute_cap', '?')}"
        for gpu in found
    )


def _printed(samples: Sequence[Sample], which: str) -> str:
    """Return the lines that the snippet printed in the first process, as the question shows them."""
    first = next((each for each in samples if each.kind == "reproduce"), None)
    lines = []
    for pair in first.pairs if first else []:
        if pair.which == which and pair.taken_s is not None:
            taken = timedelta(microseconds=round(pair.taken_s * 1e6))
            lines.append(f"Shape: ({pair.n}, {pair.n}) Device: {pair.device}")
            lines.append(f"Time taken: {taken}")
    return "\n".join(lines)


def _beside(rows: Sequence[PairRow]) -> Table:
    body: list[list[object]] = []
    for row in rows:
        theirs = ["", "", ""]
        if row.asked:
            first, rerun = row.asked
            theirs = [f"{first:.2f}", f"{rerun:.2f}", units.significant(first / rerun)]
        if row.first and row.rerun and row.ratio:
            ours = [units.seconds(each.centre) for each in (row.first, row.rerun)]
            ours.append(units.with_interval(row.ratio))
        else:
            ours = ["-", "-", row.status]
        body.append([row.cell.target, row.cell.n, *theirs, *ours])
    header = ["target", "n", "first", "rerun", "ratio", "first", "rerun", "ratio"]
    return Table(header, body, "lrrrrrrl")


def _reasons(rows: Sequence[PairRow]) -> list[str]:
    where: dict[str, dict[str, list[int]]] = {}
    for row in rows:
        if row.reason:
            where.setdefault(f"{row.status}: {row.reason}", {}).setdefault(row.cell.target, []).append(row.cell.n)
    return [
        "; ".join(f"{target} {', '.join(str(n) for n in sizes)}" for target, sizes in at.items()) + f": {text}"
        for text, at in where.items()
    ]


def _interval(run: Run) -> list[str]:
    if run.plan.samples > 1:
        return [f"{run.plan.samples} whole processes; intervals are 95 % over processes"]
    return ["one process: no interval; REPEATS=5 runs five"]


def _load(samples: Sequence[Sample]) -> list[str]:
    load = [float(each.load["loadavg_1"]) for each in samples if "loadavg_1" in each.load]
    return [f"load average before the processes: {min(load):.2f} to {max(load):.2f}"] if load else []
