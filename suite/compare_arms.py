# SPDX-License-Identifier: Apache-2.0
"""The arms of a comparison, each read from its run's folder and boiled down to what is compared."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from suite import gate, journal, rows, standing
from suite.records import Run, Sample
from suite.rows import CellRow, TargetRow


@dataclass(frozen=True)
class Arm:
    """One of the runs that are compared, without its samples: only what tables and verdicts are made of."""

    name: str
    run: Run
    cells: Sequence[CellRow]
    fresh: Mapping[str, TargetRow]
    """What fresh samples say, by the cell's id."""
    identity: Mapping[str, Mapping[str, str]]
    """The fields of :mod:`suite.gate`, by the cell's id."""
    state: str
    """What its stack was: the word of :mod:`suite.standing`."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """What the framework told of itself, shown and never held against it."""
    notes: Sequence[str] = ()
    sessions: int = 1
    """In how many sessions it was measured: RESUME= adds one."""
    missing: int = 0
    """How many planned samples were not taken."""

    @property
    def framework(self) -> str:
        """The framework and its version, as the stack has it or as the adopted interpreter was found."""
        definition = self.run.stack["definition"]["framework"]
        return f"{definition['import_name']} {self.version}"

    @property
    def version(self) -> str:
        """The framework's version: what the workers told, else what the stack says."""
        return self.facts.get("framework_version") or str(self.run.stack["definition"]["framework"]["version"])

    @property
    def python(self) -> str:
        return str(self.run.environment.get("python_version", "?"))

    def renamed(self, name: str) -> Arm:
        return dataclasses.replace(self, name=name)

    def same_stack(self, other: Arm) -> bool:
        """Tell whether both are one and the same stack, made from the same files."""
        ours, theirs = self.run.stack, other.run.stack
        return (ours["name"], ours["sha256"]) == (theirs["name"], theirs["sha256"])


#: What is read from the workers' facts to be shown beside the stacks.
SHOWN_FACTS = ("framework_version", "numpy_version", "onednn", "optimizer")


def read(folder: Path, name: str) -> Arm:
    """Read the run in ``folder``. Raises :class:`suite.journal.Unreadable` where it cannot be used."""
    run = journal.read_run(folder)
    if run.protocol != "isolated":
        raise journal.Unreadable(f"{folder}: a run of {run.protocol}: only runs of bench are compared")
    samples, notes = journal.read_samples(folder)
    return of(name, run, samples, notes)


def of(name: str, run: Run, samples: Sequence[Sample], notes: Sequence[str] = ()) -> Arm:
    """Boil a run down to an arm."""
    made = rows.both(run, samples)
    by_cell: dict[str, list[Sample]] = {}
    for sample in samples:
        by_cell.setdefault(sample.cell, []).append(sample)
    return Arm(
        name=name,
        run=run,
        cells=made.cells,
        fresh={row.cell.id: row for row in made.targets},
        identity={row.cell.id: gate.identity(run, row, by_cell.get(row.cell.id, [])) for row in made.cells},
        state=standing.of_run(run, samples),
        facts=_facts(samples),
        notes=[*notes, *standing.notes(run)],
        sessions=1 + max((sample.session for sample in samples), default=0),
        missing=rows.missing(run, samples),
    )


def _facts(samples: Sequence[Sample]) -> dict[str, str]:
    out: dict[str, str] = {}
    for name in SHOWN_FACTS:
        told = sorted({str(each.facts[name]) for each in samples if each.status == "ok" and name in each.facts})
        if told:
            out[name] = " or ".join(told)
    return out
