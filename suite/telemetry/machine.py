# SPDX-License-Identifier: Apache-2.0
"""The telemetry of one run: which GPU is watched, what it is, and the sampler that watches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from suite import ceilings
from suite.ceilings import GpuPrecision
from suite.telemetry import sampler
from suite.telemetry.gpu import Gpus
from suite.telemetry.sampler import Sampler


@dataclass(frozen=True)
class Watched:
    """What records the machine around each sample of a run.

    ``static``: facts of the watched GPU, {} where there is none; ``why`` says which it is, or why there is none.
    """

    sampler: Sampler
    of_cpu: Sampler
    """Beside what runs on CPUs only: reads no GPU."""
    static: Mapping[str, Any] = field(default_factory=dict)
    why: str = ""

    def beside(self, device: str) -> Sampler:
        """Return the sampler for a worker on ``device``."""
        return self.sampler if "GPU" in device else self.of_cpu

    def ceiling_flops(self, precision: str) -> float:
        """Return the FLOP/s that the watched GPU cannot exceed; an unknown precision has the highest of all."""
        known = {name: ceilings.gpu_ceiling_flops(self.static, name)[0] for name in get_args(GpuPrecision)}
        return known.get(precision, max(known.values()))


def watch(
    gpu: str | None, visible: str | None, say: Callable[[str], None], *, gpus: Gpus | None = None
) -> Watched:
    """Return what watches this machine and the GPU that workers will use.

    Parameters
    ----------
    gpu
        GPU= as typed: an index or a UUID.
    visible
        CUDA_VISIBLE_DEVICES of the workers; its first is what a framework calls GPU 0.
    """
    gpus = gpus or Gpus(say)
    of_cpu = sampler.for_machine(None, None)
    if gpus.count() == 0:
        return Watched(of_cpu, of_cpu, why=gpus.error or "no GPU")
    word = gpu or (visible.split(",")[0].strip() if visible else "0")
    index = gpus.find(word)
    if index is None:
        return Watched(of_cpu, of_cpu, why=f"NVML knows no GPU {word!r}")
    static = gpus.static(index)
    return Watched(sampler.for_machine(gpus, index), of_cpu, static, f"GPU {index}")
