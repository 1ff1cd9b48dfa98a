# SPDX-License-Identifier: Apache-2.0
"""What the tables of a run begin with, and parts of a document as text, for a terminal of 80 columns or Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from suite import document, rows, standing
from suite.document import WIDTH, Head, Items, Table
from suite.records import Run, Sample


def heading(run: Run, samples: Sequence[Sample]) -> Head:
    """Return the stack's name and the lines that say what was run, where, and whether all of it."""
    lines = [f"{run.stack['title']}", f"run {run.run_id}, {_what(run)}", *heading_of_machine(run)]
    lines += standing.heading(run, samples)
    if run.environment.get("wheels") == "adopted":
        framework = run.stack["definition"]["framework"]
        version = run.environment["packages"].get(framework["package"], "?")
        lines.append(f"ADOPTED: an interpreter as it was found, {framework['package']} {version}")
    limits = [f"{name}={run.environment[name]}" for name in ("cpus", "cpuset") if run.environment.get(name)]
    if limits:
        lines.append(f"LIMITED: {', '.join(limits)}; not to be compared with runs that are not")
    base = run.environment.get("base")
    if base == "stand-in":
        lines.append(f"base=stand-in: {_replaced(run)}; not the stack's own image")
    sessions = 1 + max((sample.session for sample in samples), default=0)
    if sessions > 1:
        lines.append(f"measured in {sessions} sessions (RESUME=)")
    absent = rows.missing(run, samples)
    if absent:
        lines.append(f"PARTIAL: the run ended before {absent} of {len(run.plan.planned)} samples were taken")
    return Head(str(run.stack["name"]), lines)


def heading_of_machine(run: Run) -> list[str]:
    """Return the lines that say on what was measured: engine, machine, GPU, Python."""
    engine, host = run.engine, run.host
    lines = [
        f"engine {engine['name']}: {engine['why']}",
        f"{host.get('cpu_model', 'unknown CPU')}, {host.get('effective_cpus', '?')} CPUs; "
        f"Python {run.environment.get('python_version', '?')}",
    ]
    gpu = host.get("gpu")
    if gpu:
        lines.append(
            f"{gpu.get('name', 'unknown GPU')}, {gpu.get('uuid', '?')}; driver {gpu.get('driver_version', '?')}"
        )
    return lines


def _replaced(run: Run) -> str:
    """Return what the image was built from instead of what its Dockerfile pins."""
    labels = run.environment.get("labels", {})
    shown = [f"{name.removeprefix('coldwarm.')} {labels.get(name) or '(none)'}" for name in sorted(labels)]
    return ", ".join(each for each in shown if not each.startswith(("stack", "definition")))


def _what(run: Run) -> str:
    many = run.plan.samples
    if run.protocol == "reproduce":
        return f"the question's snippet in {many} process{'' if many == 1 else 'es'}"
    return f"profile {run.plan.profile}, {many} sample{'' if many == 1 else 's'} a cell"


def paragraph(text: str) -> str:
    """Return a line wrapped for a terminal."""
    return textwrap.fill(text, WIDTH, subsequent_indent="  ")


def title(text: str, markdown: bool) -> str:
    """Return a section's title."""
    return f"## {text}\n\n" if markdown else f"{text}\n"


def table(body: Sequence[Sequence[object]], header: list[str], style: str, align: str) -> str:
    """Return a table; ``align`` is one letter a column: l or r."""
    return document.one(Table(header, body, align), style)


def items(lines: Sequence[str], markdown: bool) -> str:
    """Return lines as a list, wrapped for a terminal."""
    return document.one(Items(lines), "github" if markdown else "simple")


def notes_text(lines: Sequence[str], markdown: bool) -> str:
    """Return the notes, or "" where there is none."""
    return title("Notes", markdown) + items(lines, markdown) if lines else ""
