# SPDX-License-Identifier: Apache-2.0
"""How long a sample will take, before it is run: for the ETA, the budget and the per-sample limit."""

from __future__ import annotations

from dataclasses import dataclass, field

from suite.plan import warm_calls
from suite.records import Cell, Kind

#: Share of the machine's FLOP/s ceiling that a matmul reaches, until a pilot has shown it.
ASSUMED_SHARE_OF_CEILING = 0.3
#: FLOP/s that a GPU cannot exceed where NVML does not tell: the question's card's, so that nothing seems too short.
ASSUMED_GPU_FLOPS = 4e12
#: Seconds of a call that do not depend on n, until a pilot has shown them.
ASSUMED_OVERHEAD_S = 2e-4
#: Seconds for each element of an operand: making it, copying it, and the float64 reference.
SECONDS_PER_ELEMENT = 1e-7
#: What a sample costs beyond its process, its operand and its calls: preparatory call, compile, drains.
ASSUMED_REST_S = 0.2
#: Calls beside the warm ones: the first, the evidence call and the drains' (3 of each kind at least).
EXTRA_CALLS = 8


@dataclass(frozen=True)
class _Pilot:
    n: int
    call_s: float
    rest_s: float
    """Its wall time without the warm series."""


@dataclass
class Estimator:
    """Predicts seconds; learns from the probe and the pilots of this very run."""

    ceiling_flops: float
    min_calls: int
    warm_s: float
    process_s: float = 2.0
    gpu_ceiling_flops: float = ASSUMED_GPU_FLOPS
    _pilots: dict[str, _Pilot] = field(default_factory=dict)
    _largest: dict[tuple[str, str], _Pilot] = field(default_factory=dict)

    def learn_process(self, wall_s: float) -> None:
        """Take the probe's wall time as what every process costs before it measures anything.

        Less a little: the probe is the first to read the framework's files.
        """
        self.process_s = 0.85 * wall_s

    def learn_pilot(self, cell: Cell, call_s: float, wall_s: float, warm_s: float) -> None:
        """Take from a cell's pilot its warm median, its wall time and how long its warm series took."""
        pilot = _Pilot(cell.n, call_s, wall_s - warm_s)
        self._pilots[cell.id] = pilot
        key = (cell.target, cell.placement)
        if key not in self._largest or self._largest[key].n <= cell.n:
            self._largest[key] = pilot

    def call_s(self, cell: Cell) -> float:
        """Return the expected seconds of one warm call."""
        if cell.id in self._pilots:
            return self._pilots[cell.id].call_s
        ceiling = self.gpu_ceiling_flops if "GPU" in cell.device else self.ceiling_flops
        assumed = ASSUMED_OVERHEAD_S + 2.0 * cell.n**3 / (ASSUMED_SHARE_OF_CEILING * ceiling)
        known = self._largest.get((cell.target, cell.placement))
        if known is None or known.n >= cell.n:
            return assumed
        if known.n < 500:
            return max(assumed, known.call_s)  # a small shape's time is overhead: it does not scale
        return known.call_s * (cell.n / known.n) ** 3

    def sample_s(self, cell: Cell, kind: Kind) -> float:
        """Return the expected seconds of one sample of that kind, not a probe."""
        call = self.call_s(cell)
        known = self._pilots.get(cell.id)
        if known is not None:
            rest = known.rest_s
        else:
            rest = self.process_s + ASSUMED_REST_S + SECONDS_PER_ELEMENT * cell.n**2 + EXTRA_CALLS * call
        if kind == "fresh":
            return rest - (0 if known is None else 0.2 * rest)
        if kind == "pilot":
            return rest + max(pilot_s(self.warm_s), 3 * call)
        return rest + warm_calls(call, self.min_calls, self.warm_s) * call


def pilot_s(warm_s: float) -> float:
    """Return how long a pilot's warm series goes on: enough for a median, less than a real one."""
    return 0.4 * warm_s
