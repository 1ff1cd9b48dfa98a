# SPDX-License-Identifier: Apache-2.0
"""Where a sample runs. An engine prepares a stack once and then gives the command that runs a worker."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

#: The worker's folder; it imports nothing of the host side and is what every engine runs.
WORKER = Path(__file__).resolve().parent.parent / "worker"


class Engine(Protocol):
    """A prepared engine: all it still has to do is to start workers."""

    @property
    def name(self) -> str:
        """The engine's name, as ENGINE= has it."""
        ...

    def worker_command(self, request: Path) -> list[str]:
        """Return the argument list that runs one worker for ``request``. A pure function."""
        ...

    def identity(self) -> dict[str, Any]:
        """Return what the engine prepared, for run.json: versions, hashes, where it was found."""
        ...
