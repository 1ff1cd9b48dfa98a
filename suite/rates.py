# SPDX-License-Identifier: Apache-2.0
"""How fast a cell's warm calls are in FLOP/s, beside what the device cannot exceed at the precision in force."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from suite import ceilings
from suite.records import Run, Sample
from suite.rows import CellRow

#: From this shape on a GPU's rate is its own, and not that of its launches.
FILLS_A_GPU = 8192


@dataclass(frozen=True)
class Rate:
    """One cell's FLOP/s: 2 n^3 over its warm time, the precision in force, and the ceiling (None: not known)."""

    row: CellRow
    flops: float
    precision: str
    ceiling_flops: float | None

    def text(self) -> str:
        """Return it in words, such as "343 TFLOP/s (tf32), 69 % of the ceiling"."""
        out = f"{readable(self.flops)} ({self.precision})"
        if not self.ceiling_flops:
            return out
        return (
            f"{out}, {100 * self.flops / self.ceiling_flops:.0f} % of the ceiling {readable(self.ceiling_flops)}"
        )


def rates(run: Run, samples: Iterable[Sample], cell_rows: Sequence[CellRow]) -> dict[str, Rate]:
    """Return the rate of each cell that has a warm time, by cell id."""
    precisions = {each.cell: str(each.facts["precision"]) for each in samples if "precision" in each.facts}
    out = {}
    for row in cell_rows:
        if row.warm is None:
            continue
        precision = precisions.get(row.cell.id, row.cell.precision)
        flops = 2.0 * row.cell.n**3 / row.warm.centre
        out[row.cell.id] = Rate(row, flops, precision, _ceiling(run, row.cell.device, precision))
    return out


def notes(run: Run, samples: Iterable[Sample], cell_rows: Sequence[CellRow]) -> list[str]:
    """Return the rate of each target and placement at its largest shape, and at others that fill a GPU.

    Where one of them is on a GPU a second note says what that GPU cannot exceed, at each precision.
    """
    large: dict[tuple[str, str], list[Rate]] = {}
    for rate in rates(run, samples, cell_rows).values():  # rows ascend in shape
        cell = rate.row.cell
        mine = large.setdefault((cell.target, cell.placement), [])
        fills = "GPU" in cell.device and mine and mine[-1].row.cell.n >= FILLS_A_GPU
        mine[:] = [*mine, rate] if fills else [rate]
    told = [
        f"{target} {placement} {rate.row.cell.n}: {rate.text()}"
        for (target, placement), every in large.items()
        for rate in every
    ]
    if not told:
        return []
    several = any(len(every) > 1 for every in large.values())
    where = f"at the largest shape, on a GPU from {FILLS_A_GPU} on" if several else "at the largest shape"
    return [f"warm rate {where}: {'; '.join(told)}", *_ceilings(run, large)]


def _ceilings(run: Run, large: Mapping[tuple[str, str], Sequence[Rate]]) -> list[str]:
    static = run.host.get("gpu")
    if not static or not any("GPU" in target for target, _ in large):
        return []
    names: tuple[ceilings.GpuPrecision, ...] = ("bf16", "tf32", "ieee")
    told = [f"{readable(ceilings.gpu_ceiling_flops(static, each)[0])} ({each})" for each in names]
    return [f"no call on this GPU is faster than {', '.join(told)}"]


def _ceiling(run: Run, device: str, precision: str) -> float | None:
    if "GPU" not in device:
        found = run.engine.get("ceiling_flops")
        return ceilings.cpu_ceiling_flops(float(found), precision) if isinstance(found, int | float) else None
    static = run.host.get("gpu")
    if not static or precision not in ("ieee", "tf32", "bf16"):
        return None
    return ceilings.gpu_ceiling_flops(static, precision)[0]  # type: ignore[arg-type]


def readable(flops: float) -> str:
    """Return FLOP/s for people, three digits: "343 TFLOP/s", "28.6 GFLOP/s"."""
    for size, unit in ((1e12, "TFLOP/s"), (1e9, "GFLOP/s"), (1e6, "MFLOP/s")):
        if flops >= size:
            return f"{float(f'{flops / size:.3g}'):g} {unit}"
    return f"{flops:.3g} FLOP/s"
