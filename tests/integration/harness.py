# SPDX-License-Identifier: Apache-2.0
"""Take single samples of the real stack, with an honest worker or with one that a fault was planted in."""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass, field
from pathlib import Path

from suite import host, sampling
from suite.engines import WORKER
from suite.engines.local import Local
from suite.records import Cell, Planned, Sample
from suite.watch import Watch
from suite.worker_env import clean_environment

_NUMBERS = itertools.count()


@dataclass
class Taker:
    """Takes samples with one environment into one folder."""

    python: Path
    folder: Path
    environment: dict[str, str] = field(default_factory=dict)
    ceiling_flops: float = 0.0

    def __post_init__(self) -> None:
        self.ceiling_flops = host.float32_ceiling_flops(host.fingerprint())[0]

    def take(
        self,
        target: str,
        n: int,
        *,
        kind: str = "prepared",
        warm_calls: int = 30,
        worker: Path = WORKER,
        timeout_s: float = 120.0,
    ) -> Sample:
        """Take one sample, device placement; return its record."""
        planned = Planned(f"{kind}.{next(_NUMBERS)}", kind, f"{target}.device.{n}", 1)  # type: ignore[arg-type]
        with Watch({}) as watch:
            setting = sampling.Setting(
                engine=Local(python=self.python, worker=worker),
                environment=lambda home, caches: clean_environment(
                    os.environ, home, {**self.environment, **caches}
                ),
                adapter="tf_session",
                ceiling_flops=self.ceiling_flops,
                timeout_s=timeout_s,
                operand_seed=20190614,
                raw=self.folder,
                load=dict,
                watch=watch,
            )
            return sampling.take(setting, planned, cell(target, n), 0, warm_calls=warm_calls)

    def raw(self, sample: Sample, name: str) -> str:
        """Return one of a sample's raw files."""
        return (self.folder / sample.id / name).read_text(encoding="utf-8", errors="replace")


def cell(target: str, n: int) -> Cell:
    """Return the cell of one target and size, placement ``device``."""
    return Cell(
        id=f"{target}.device.{n}",
        stack="tf1.14-cuda10",
        target=target,
        placement="device",
        device=f"/device:{target}:0",
        op="matmul",
        n=n,
        dtype="float32",
        precision="default",
        level="not_applicable" if target.endswith("CPU") else "jit",
        python="3.6",
        engine="local",
    )


def plant(folder: Path, fault: str) -> Path:
    """Make a worker's folder that runs ``fault`` and then the real worker; return it.

    ``fault`` is Python source that may import the worker's modules and change them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    source = (
        f"import runpy, sys\nsys.path.insert(0, {str(WORKER)!r})\n{fault}\n"
        f"runpy.run_path({str(WORKER)!r}, run_name='__main__')\n"
    )
    (folder / "__main__.py").write_text(source, encoding="utf-8")
    return folder
