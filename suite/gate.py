# SPDX-License-Identifier: Apache-2.0
"""What must be the same on both sides of a comparison, besides what is compared: pure functions of stored runs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from suite.records import Run, Sample
from suite.rows import CellRow

NOT_RECORDED = "not recorded"


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
    return watched or " ".join(sorted(str(gpu.get("uuid")) for gpu in gpus)) or None


def _driver(run: Run) -> Any:
    gpus = run.host.get("nvidia", {}).get("gpus", [])
    watched = run.host.get("gpu", {}).get("driver_version")
    return watched or (gpus[0].get("driver_version") if gpus else None)


#: Fields of the whole run.
OF_RUN: dict[str, Callable[[Run], Any]] = {
    "cpu_model": lambda run: run.host.get("cpu_model"),
    "engine": lambda run: run.engine.get("name"),
}
#: Fields of the whole run that only cells on a GPU have.
OF_GPU: dict[str, Callable[[Run], Any]] = {"gpu": _gpu, "driver": _driver}
#: Facts that the worker tells of itself, which must be the same in all samples of both cells.
OF_WORKER: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "effective_cpus": lambda facts: facts.get("cpus", {}).get("effective"),
    "threads": lambda facts: facts.get("intra_op_threads"),
    # As its entries' errors show it; as the worker says where they could not tell.
    "precision": lambda facts: facts.get("effective_precision") or facts.get("precision"),
}
#: Facts of the cell itself. Its shape is no such field: cells of different shapes are never set against each other.
OF_ROW: dict[str, Callable[[CellRow], Any]] = {
    "placement": lambda row: row.cell.placement,
    "dtype": lambda row: row.cell.dtype,
    "level": lambda row: row.cell.level,
    "bytecode": lambda row: "incomplete" if row.bytecode_incomplete else "whole",
}
FIELDS = (*OF_RUN, *OF_GPU, *OF_WORKER, *OF_ROW)
#: Fields that may be what is compared: they may differ where nothing else of these does.
FACTORS = ("engine", "placement")


def identity(run: Run, row: CellRow, samples: Sequence[Sample]) -> dict[str, str]:
    """Return every field of a cell that its counterpart must share, in the order of ``FIELDS``, as text.

    A fact that samples disagree on has all its values, one that no sample tells is ``NOT_RECORDED``.
    """
    out = {field: _text([read(run)]) for field, read in OF_RUN.items()}
    if "GPU" in row.cell.target:
        out.update((field, _text([read(run)])) for field, read in OF_GPU.items())
    mine = [
        each for each in samples if each.cell == row.cell.id and each.kind == "prepared" and each.status == "ok"
    ]
    out.update((field, _text([tell(each.facts) for each in mine])) for field, tell in OF_WORKER.items())
    out.update((field, _text([read(row)])) for field, read in OF_ROW.items())
    return out


def differences(a: Mapping[str, str], b: Mapping[str, str], *, same_stack: bool) -> list[Difference]:
    """Return what differs between two cells that must not, each given as its :func:`identity`.

    One thing is compared at a time: where the stack is not it (``same_stack``), the engine may be, and with one
    engine the placement. Fields that are observed (clock, temperature, load) are none of these: they never stand in
    the way.
    """
    found = [Difference(field, a[field], b[field]) for field in FIELDS if field in a and a[field] != b.get(field)]
    if same_stack:
        factor = next((field for field in FACTORS if any(each.field == field for each in found)), None)
        found = [each for each in found if each.field != factor]
    return found


def not_recorded(a: Mapping[str, str], b: Mapping[str, str]) -> list[str]:
    """Return the fields that neither side has recorded: nobody can tell whether they are the same."""
    return [field for field in FIELDS if a.get(field) == NOT_RECORDED and b.get(field) == NOT_RECORDED]


def blocked(found: Sequence[Difference], allowed: Collection[str]) -> Difference | None:
    """Return the first difference that ALLOW= does not name, or None."""
    return next((each for each in found if each.field not in allowed), None)


def _text(values: Sequence[Any]) -> str:
    known = sorted({_value(value) for value in values if value is not None})
    return " or ".join(known) or NOT_RECORDED


def _value(value: Any) -> str:
    # 2 CPUs and 2.0 CPUs are as many.
    return f"{value:g}" if isinstance(value, float) else str(value)
