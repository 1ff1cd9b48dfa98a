# SPDX-License-Identifier: Apache-2.0
"""Take single samples of the real stack, with an honest worker or with one that a fault was planted in."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from suite import host, levels, plan, sampling
from suite.engines import WORKER
from suite.engines.local import Local
from suite.records import Planned, Sample
from suite.stack import Stack
from suite.telemetry.machine import Watched
from suite.watch import Watch
from suite.worker_env import clean_environment

_NUMBERS = itertools.count()


@dataclass
class Taker:
    """Takes samples of one stack, with its environment made, into one folder."""

    python: Path
    folder: Path
    stack: Stack
    watched: Watched | None = None
    """What knows the ceiling of the GPU, where one is measured."""

    def __post_init__(self) -> None:
        self.ceiling_flops = host.float32_ceiling_flops(host.fingerprint())[0]

    def take(
        self,
        target: str,
        n: int,
        *,
        placement: str = "device",
        kind: str = "prepared",
        warm_calls: int = 30,
        worker: Path = WORKER,
        timeout_s: float = 120.0,
        precision: str = "default",
        dtype: str = "float32",
        environment: Mapping[str, str] = MappingProxyType({}),
        more: Mapping[str, Any] = MappingProxyType({}),
    ) -> Sample:
        """Take one sample; return its record."""
        planned = Planned(f"{kind}.{next(_NUMBERS)}", kind, f"{target}.{placement}.{n}", 1)  # type: ignore[arg-type]
        [how] = [each for each in self.stack.realisations(target) if each.placement == placement]
        definition = self.stack.definition
        with Watch({}) as watch:
            setting = sampling.Setting(
                engine=Local(python=self.python, worker=worker),
                environment=lambda home, its: clean_environment(
                    os.environ, home, {**definition.environment, **its, **environment}
                ),
                probe_adapter=definition.adapter,
                placement_environment=lambda _: how.environment,
                compile_log=definition.compile_log,
                ceiling_flops=self.ceiling_flops,
                timeout_s=timeout_s,
                operand_seed=20190614,
                raw=self.folder,
                load=dict,
                watch=watch,
                caches=levels.Folders(self.folder / "kept"),
                watched=self.watched,
            )
            [cell] = plan.cells(
                self.stack,
                [target],
                placement,
                [n],
                dtype=dtype,
                precision=precision,
                level="jit",
                python=definition.python.default,
                engine="local",
            )
            return sampling.take(setting, planned, cell, 0, warm_calls=warm_calls, more=more)

    def raw(self, sample: Sample, name: str) -> str:
        """Return one of a sample's raw files."""
        return (self.folder / sample.id / name).read_text(encoding="utf-8", errors="replace")


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
