# SPDX-License-Identifier: Apache-2.0
"""Play recorded samples back in place of worker processes: the whole tool runs, and nothing is timed.

A recording is the ``raw`` folder of any run. What replayed samples say is as true as the recording was of its
own machine; a run that was replayed says ``replay`` where others name their engine.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suite.engines import Command
from suite.launch import Outcome
from suite.records import to_json
from suite.sampling import OUTCOME
from suite.watch import Watch

#: Fields of events that are readings of the worker's clock, and so move with the spawn.
CLOCK_FIELDS = ("at_s", "begin_s", "end_s")


@dataclass(frozen=True)
class ReplayEngine:
    """Stands where an engine does; its command is never run."""

    recording: Path
    name: str = "replay"

    def worker_command(self, request: Path, environment: Mapping[str, str]) -> Command:
        """Return a command that says what it is, should anyone run it."""
        return Command(["false", f"replay of {self.recording}", str(request)], dict(environment))

    def clean_up(self, folder: Path) -> None:
        """Do nothing: nothing runs."""

    def identity(self) -> dict[str, Any]:
        return {"recording": self.recording.name, "python_version": "recorded"}


@dataclass(frozen=True)
class Replay:
    """A launcher that answers each sample with the recorded one of the same id.

    Blocks beyond those recorded start again at the first.
    """

    recording: Path

    def __call__(
        self,
        argv: Sequence[str],
        *,
        folder: Path,
        environment: Mapping[str, str],
        spawn_s: float,
        timeout_s: float,
        watch: Watch,
        words: str = "",
        end: Callable[[], None] | None = None,
    ) -> Outcome:
        """Write the recorded events, moved to ``spawn_s``, into ``folder``; return the recorded outcome.

        Raises FileNotFoundError where nothing was recorded for this sample.
        """
        recorded = self._recorded(folder.name)
        outcome = json.loads((recorded / OUTCOME).read_text(encoding="utf-8"))
        moved = spawn_s - outcome["spawn_s"]
        with (folder / "events.jsonl").open("w", encoding="utf-8") as file:
            for line in (recorded / "events.jsonl").read_text(encoding="utf-8").splitlines():
                file.write(to_json(_moved(json.loads(line), moved)) + "\n")
        for name in ("stdout.txt", "stderr.txt"):
            if (recorded / name).exists():
                shutil.copyfile(recorded / name, folder / name)
            else:
                (folder / name).touch()
        for name in ("spawn_s", "executing_s", "ended_s"):
            outcome[name] += moved
        return Outcome(**outcome)

    def _recorded(self, sample: str) -> Path:
        # A probe of a later session, and a sample that was taken again, are answered as the first one was.
        sample = sample.partition(".session-")[0].partition(".again.")[0]
        exact = self.recording / sample
        if exact.is_dir():
            return exact
        stem, _, block = sample.rpartition(".")
        blocks = sorted(self.recording.glob(f"{stem}.*"), key=lambda path: int(path.name.rpartition(".")[2]))
        if not blocks or not block.isdigit():
            raise FileNotFoundError(f"{self.recording}: nothing was recorded for {sample}")
        return blocks[(int(block) - 1) % len(blocks)]


def _moved(event: dict[str, Any], by_s: float) -> dict[str, Any]:
    out = {key: value + by_s if key in CLOCK_FIELDS else value for key, value in event.items()}
    if event["event"] == "started":
        # The recording's machine is not this boot; its two clocks agreed, and so must these.
        from suite.classify import clock_frame

        out.update(clock_frame())
    return out
