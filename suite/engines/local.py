# SPDX-License-Identifier: Apache-2.0
"""Engine ``local``: a worker is a process of this machine, in an environment made for the stack."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from suite.engines import WORKER, Command


@dataclass(frozen=True)
class Local:
    """The local engine with its environment made."""

    python: Path
    made: dict[str, Any] = field(default_factory=dict)
    worker: Path = WORKER
    name: str = "local"

    def worker_command(self, request: Path, environment: Mapping[str, str]) -> Command:
        """Return the command: isolated (-I), unbuffered (-u), writing no bytecode (-B)."""
        return Command([str(self.python), "-I", "-u", "-B", str(self.worker), str(request)], dict(environment))

    def clean_up(self, folder: Path) -> None:
        """Do nothing: the worker's process group was killed."""

    def identity(self) -> dict[str, Any]:
        return dict(self.made)
