# SPDX-License-Identifier: Apache-2.0
"""One stored run in a few words: what an index and a history keep of it once its samples are let go of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suite import machines, pairs, standing
from suite import rows as of_rows
from suite.collect import Derived
from suite.machines import Machine
from suite.question import question
from suite.records import Cell, Run, Sample
from suite.rows import Count
from suite.stats import Estimate


@dataclass(frozen=True)
class Point:
    """What one run says of one cell; times in seconds, None where the cell is not ok."""

    cell: Cell
    count: Count
    cold: Estimate | None
    warm: Estimate | None
    not_steady: bool
    tagged: int


@dataclass(frozen=True)
class Entry:
    """A run that can be used."""

    folder: Path
    run_id: str
    created_utc: str
    stack: str
    arm: str
    protocol: str
    profile: str
    samples: int
    """Samples a cell, or processes of the question's snippet."""
    state: str
    """What its stack was: the word of :mod:`suite.standing`."""
    machine: Machine
    cells: int
    cells_ok: int
    planned: int
    missing: int
    """Planned samples that were not taken."""
    skipped: Sequence[str]
    """A note for each line of samples.jsonl that could not be used."""
    made_of: Mapping[str, str]
    """The fields of ``MADE_OF``: what may change from run to run of one stack on one machine."""
    points: Sequence[Point] = ()
    """The cells that were asked for."""

    @property
    def kind(self) -> str:
        return f"{self.protocol if self.protocol == 'reproduce' else self.profile} {self.samples}"

    @property
    def remark(self) -> str:
        """What a reader of a list must know first, in a word; "" where there is nothing."""
        if self.missing:
            return "partial"
        return {"built": "", "not started": "none ok"}.get(self.state, self.state)


def _environment(run: Run) -> str:
    what = str(run.environment.get("image") or run.environment.get("lock_sha256") or "")
    return what.removeprefix("sha256:")[:12]


def _memory(run: Run) -> str:
    size = run.host.get("memory_bytes")
    return f"{round(size / 2**30)} GiB" if isinstance(size, int) else ""


def _framework(run: Run) -> str:
    framework = run.stack.get("definition", {}).get("framework", {})
    packages = run.environment.get("packages", {})
    return str(packages.get(framework.get("package")) or framework.get("version") or "")


def _effective(run: Run) -> str:
    value = run.host.get("effective_cpus")
    return f"{value:g}" if isinstance(value, (int, float)) else ""


#: What is looked at for changes from one run to the next, in the order in which changes are told; "" is not recorded.
MADE_OF: dict[str, Callable[[Run], str]] = {
    "stack": lambda run: str(run.stack.get("sha256", ""))[:12],
    "environment": _environment,
    "framework": _framework,
    "python": lambda run: str(run.environment.get("python_version", "")),
    "driver": machines.driver,
    "kernel": lambda run: str(run.host.get("kernel", "")),
    "os": lambda run: str(run.host.get("os", "")),
    "memory": _memory,
    "effective_cpus": _effective,
    "worker": lambda run: str(run.coldwarm.get("worker_tree_sha256", ""))[:12],
}
#: The same of what the workers told.
TOLD = ("intra_op_threads", "precision", "onednn", "cuda_module_loading")


def of(folder: Path, derived: Derived, wanted: Callable[[Cell], bool] | None = None) -> Entry:
    """Boil a run down to an entry; ``wanted`` says which of its cells to keep."""
    run, samples = derived.run, derived.samples
    state = standing.of_run(run, samples)
    cells = [] if derived.rows is None else derived.rows.cells
    return Entry(
        folder=folder,
        run_id=run.run_id,
        created_utc=run.created_utc,
        stack=str(run.stack["name"]),
        arm=run.arm,
        protocol=run.protocol,
        profile=run.plan.profile,
        samples=run.plan.samples,
        state=state,
        machine=machines.of(run),
        cells=len(run.plan.cells),
        cells_ok=_pairs_ok(derived) if derived.rows is None else sum(row.count.shows_times for row in cells),
        planned=len(run.plan.planned),
        missing=of_rows.missing(run, samples),
        skipped=list(derived.notes),
        made_of={**{name: read(run) for name, read in MADE_OF.items()}, **_told(samples), "state": state},
        points=[
            Point(row.cell, row.count, row.cold, row.warm, bool(row.not_steady), row.tagged)
            for row in cells
            if wanted is not None and wanted(row.cell)
        ],
    )


def _pairs_ok(derived: Derived) -> int:
    return sum(row.status == "ok" for row in pairs.rows(derived.run, derived.samples, question()))


def _told(samples: Sequence[Sample]) -> dict[str, str]:
    facts: Mapping[str, Any] = next((each.facts for each in samples if each.status == "ok" and each.facts), {})
    return {name: str(facts.get(name, "")) for name in TOLD}
