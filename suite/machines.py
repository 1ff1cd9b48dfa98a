# SPDX-License-Identifier: Apache-2.0
"""Which machine a stored run is of: by what stays the same while drivers and kernels come and go."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from suite.records import Run, to_json


@dataclass(frozen=True)
class Machine:
    """CPU and GPUs of a machine. Two machines that are alike in all of it are one to coldwarm: it keeps no host name.

    ``gpus``: the UUID and name of each, sorted.
    """

    cpu_model: str
    architecture: str
    logical_cpus: int
    gpus: tuple[tuple[str, str], ...] = ()

    @cached_property
    def id(self) -> str:
        """Six hex digits, the same for the same machine in every tree."""
        identity = [self.cpu_model, self.architecture, self.logical_cpus, [uuid for uuid, _ in self.gpus]]
        return hashlib.sha256(to_json(identity).encode()).hexdigest()[:6]

    def text(self) -> str:
        """Return it for people: ``AMD EPYC, 2 CPUs, x86_64, no GPU``."""
        gpus = [f"{name} {uuid}" for uuid, name in self.gpus]
        cpus = f"{self.logical_cpus} CPU{'' if self.logical_cpus == 1 else 's'}"
        return ", ".join([self.cpu_model, cpus, self.architecture, *(gpus or ["no GPU"])])


def of(run: Run) -> Machine:
    """Return the machine of a run."""
    host = run.host
    return Machine(
        cpu_model=str(host.get("cpu_model", "unknown CPU")),
        architecture=str(host.get("machine", "?")),
        logical_cpus=int(host.get("logical_cpus") or 0),
        gpus=tuple(sorted((str(gpu.get("uuid")), str(gpu.get("name"))) for gpu in gpus(run))),
    )


def gpus(run: Run) -> list[Mapping[str, Any]]:
    """Return what the run's host told of each of its GPUs."""
    return list(run.host.get("nvidia", {}).get("gpus", []))


def driver(run: Run) -> str:
    """Return the NVIDIA driver's version, "" where there is none."""
    versions = [gpu.get("driver_version") for gpu in gpus(run)]
    return str((run.host.get("gpu") or {}).get("driver_version") or next(iter(versions), "") or "")
