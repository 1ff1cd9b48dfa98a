# SPDX-License-Identifier: Apache-2.0
"""Where a sample runs. An engine prepares a stack once and then gives the command that runs a worker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from suite.engines.advice import About

#: The worker's folder; it imports nothing of the host side and is what every engine runs.
WORKER = Path(__file__).resolve().parent.parent / "worker"


@dataclass(frozen=True)
class Command:
    """What runs one worker.

    ``environment`` is that of ``argv`` itself, which may be a client that passes another on. ``words``: what the
    names of the files begin with that its stdout and stderr go to; a client's words are not the worker's.
    ``about``: the client's engine, for what its words mean.
    """

    argv: list[str]
    environment: dict[str, str]
    words: str = ""
    about: About = About()


class Engine(Protocol):
    """A prepared engine: all it still has to do is to start workers."""

    @property
    def name(self) -> str:
        """The engine's name, as ENGINE= has it."""
        ...

    def worker_command(self, request: Path, environment: Mapping[str, str]) -> Command:
        """Return what runs one worker for ``request`` with ``environment``. A pure function."""
        ...

    def clean_up(self, folder: Path) -> None:
        """Leave nothing of the sample in ``folder`` running, should it have been cut short."""
        ...

    def identity(self) -> dict[str, Any]:
        """Return what the engine prepared, for run.json: versions, hashes, where it was found."""
        ...
