# SPDX-License-Identifier: Apache-2.0
"""What must be the same on both sides of a comparison, besides what is compared: a pure function of two runs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from suite.records import Run, Sample
from suite.rows import CellRow


@dataclass(frozen=True)
class Difference:
    """A field that must be the same and is not, with both values."""

    field: str
    a: str
    b: str

    def text(self) -> str:
        return f"{self.field} differs: {self.a} and {self.b}"


def _gpu(run: Run) -> Any:
    gpus = run.host.get("nvidia", {}).get("gpus", [])
    watched = run.host.get("gpu", {}).get("uuid")
    return watched or [gpu.get("uuid") for gpu in gpus]


def _driver(run: Run) -> Any:
    gpus = run.host.get("nvidia", {}).get("gpus", [])
    return gpus[0].get("driver_version") if gpus else None


#: Fields of the whole run.
OF_RUN: dict[str, Callable[[Run], Any]] = {
    "cpu_model": lambda run: run.host.get("cpu_model"),
    "gpu": _gpu,
    "driver": _driver,
    "engine": lambda run: run.engine["name"],
}
#: Facts that the worker tells of itself, which must be the same in all samples of both cells.
OF_WORKER: dict[str, Callable[[dict[str, Any]], Any]] = {
    "effective_cpus": lambda facts: facts.get("cpus", {}).get("effective"),
    "threads": lambda facts: facts.get("intra_op_threads"),
    "precision": lambda facts: facts.get("precision"),
}
FIELDS = (*OF_RUN, *OF_WORKER, "dtype", "level", "bytecode")


def differences(
    a: tuple[Run, CellRow, Sequence[Sample]], b: tuple[Run, CellRow, Sequence[Sample]]
) -> list[Difference]:
    """Return what differs between two cells that must not, each side given as its run, its row and its samples.

    Fields that are observed (clock, temperature, load) are none of these: they never stand in the way.
    """
    found = [
        Difference(field, repr(read(a[0])), repr(read(b[0])))
        for field, read in OF_RUN.items()
        if read(a[0]) != read(b[0])
    ]
    for field, tell in OF_WORKER.items():
        ours, theirs = _told(a[1], a[2], tell), _told(b[1], b[2], tell)
        # A cell without any sample of its own has nothing to differ in.
        if ours and theirs and ours != theirs:
            found.append(Difference(field, " or ".join(ours), " or ".join(theirs)))
    for field, read_row in _OF_ROW.items():
        before, after = read_row(a[1]), read_row(b[1])
        if before != after:
            found.append(Difference(field, before, after))
    return found


_OF_ROW: dict[str, Callable[[CellRow], str]] = {
    "dtype": lambda row: row.cell.dtype,
    "level": lambda row: row.cell.level,
    "bytecode": lambda row: "incomplete" if row.bytecode_incomplete else "whole",
}


def blocked(found: Sequence[Difference], allowed: Collection[str]) -> Difference | None:
    """Return the first difference that ALLOW= does not name, or None."""
    return next((each for each in found if each.field not in allowed), None)


def _told(row: CellRow, samples: Sequence[Sample], tell: Callable[[dict[str, Any]], Any]) -> list[str]:
    values = {
        repr(tell(sample.facts))
        for sample in samples
        if sample.cell == row.cell.id and sample.kind == "prepared" and sample.status == "ok"
    }
    return sorted(values)
