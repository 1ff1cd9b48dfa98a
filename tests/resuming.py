# SPDX-License-Identifier: Apache-2.0
"""Replayed runs that are cut short and gone on with: RESUME= without a framework and without waiting."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suite import journal, measure, resume, words
from suite.exits import Exit
from suite.stack import ROOT

STACK = "tf1.14-cuda10"
RECORDING = ROOT / "tests" / "data" / "recorded" / STACK
#: Eleven samples: a probe, two pilots, and two blocks of a prepared and a fresh sample of each target.
SMALL = {"stack": STACK, "targets": "CPU,XLA_CPU", "shapes": "500", "samples": "2"}

#: What identifies a run: where it stands in run.json, another value, and how a refusal names it.
IDENTITY = [
    (("stack", "sha256"), "0" * 64, "stack.sha256"),
    (("environment", "packages"), {"numpy": "1.16.0"}, "environment.packages"),
    (("engine", "name"), "docker", "engine.name"),
    (("coldwarm", "worker_tree_sha256"), "2" * 64, "coldwarm.worker_tree_sha256"),
    (("host", "cpu_model"), "another CPU", "host.cpu_model"),
    (("host", "nvidia"), {"gpus": [{"uuid": "GPU-1", "driver_version": "430.50"}]}, "gpus"),
    (("worker_environment", "OMP_NUM_THREADS"), "1", "worker_environment"),
]


@dataclass(frozen=True)
class Ended:
    """A command that has ended: its exit code, the run's folder and what it printed."""

    code: Exit
    folder: Path
    table: str


def begin(out: Path, environ: dict[str, str] | None = None, recording: Path = RECORDING, **given: str) -> Ended:
    """Run ``bench`` with recorded samples."""
    asked = words.parse({**SMALL, "out": str(out), **given})
    printed: list[str] = []
    code, folder = measure.run(asked, environ or {}, ["bench"], printed.append, recording=recording)
    return Ended(code, folder, "".join(printed))


def go_on(folder: Path, environ: dict[str, str] | None = None, recording: Path = RECORDING, **given: str) -> Ended:
    """Run ``bench RESUME=<folder>``, as the command line does."""
    asked: dict[str, str | None] = {"resume": str(folder), **given}
    earlier = resume.read(folder, asked)
    printed: list[str] = []
    code, folder = measure.run(
        words.parse(earlier.words(asked)),
        environ or {},
        ["bench"],
        printed.append,
        recording=recording,
        earlier=earlier,
    )
    return Ended(code, folder, "".join(printed))


def copied(folder: Path, to: Path) -> Path:
    """Copy a run's folder, where a test may cut it."""
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(folder, to)
    return to


def lines(folder: Path) -> list[dict[str, Any]]:
    """Return every line of a run's journal, whatever its readers make of it."""
    return [json.loads(line) for line in (folder / journal.SAMPLES).read_bytes().splitlines()]


def cut(folder: Path, keep: int, torn: int = 0) -> bytes:
    """Leave the first ``keep`` lines of a run's journal, and so many bytes of the next; return those."""
    path = folder / journal.SAMPLES
    data = path.read_bytes().splitlines(keepends=True)
    piece = data[keep][:torn] if torn else b""
    path.write_bytes(b"".join(data[:keep]) + piece)
    return piece


def change(folder: Path, *path: str, to: object) -> None:
    """Change one field of a run's run.json."""
    run = json.loads((folder / journal.RUN).read_text(encoding="utf-8"))
    at = run
    for name in path[:-1]:
        at = at[name]
    at[path[-1]] = to
    (folder / journal.RUN).write_text(json.dumps(run), encoding="utf-8")


def files(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder with its bytes."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in _files(folder)}


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())
