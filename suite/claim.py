# SPDX-License-Identifier: Apache-2.0
"""One run on one GPU at a time: a lock tells two runs apart, because each would be the other's noise."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from suite.errors import SuiteError
from suite.exits import Exit
from suite.records import Run

#: Where all users of a machine look.
FOLDER = Path(tempfile.gettempdir())


@contextlib.contextmanager
def gpus(run: Run, folder: Path | None = None) -> Iterator[None]:
    """Claim the GPUs that a run may use, for as long as the body lasts. The kernel lets go of them with the process.

    Raises
    ------
    SuiteError
        NOT_PREPARED where another run has one of them, naming that run.
    """
    with contextlib.ExitStack() as claims:
        for uuid in wanted(run):
            claims.enter_context(_claimed(uuid, run, folder or FOLDER))
        yield


def wanted(run: Run) -> list[str]:
    """Return the UUIDs of the GPUs that a run may use, none where no cell of it is on one."""
    if not any("GPU" in cell.target for cell in run.plan.cells):
        return []
    named = run.worker_environment.get("CUDA_VISIBLE_DEVICES")
    found = []
    for gpu in run.host.get("nvidia", {}).get("gpus", []):
        if named is None or {gpu.get("index"), gpu.get("uuid")} & set(named.split(",")):
            found.append(str(gpu.get("uuid")))
    return found


@contextlib.contextmanager
def _claimed(uuid: str, run: Run, folder: Path) -> Iterator[None]:
    path = folder / f"coldwarm-{uuid}.lock"
    try:
        # Another user's file in a shared folder may be opened, but not with O_CREAT (fs.protected_regular).
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC) if path.exists() else _create(path)
    except OSError:
        yield  # nobody can be told, and nobody can be asked: better measured than refused
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        holder = _text(path) or "another run"
        os.close(descriptor)
        what = f"{uuid} is being measured by {holder}"
        raise SuiteError(
            Exit.NOT_PREPARED, what, "Wait until it has ended, or name another GPU with GPU=."
        ) from error
    with contextlib.suppress(OSError):
        path.write_text(f"{run.stack['name']} {run.run_id} (process {os.getpid()})", encoding="utf-8")
    try:
        yield
    finally:
        os.close(descriptor)


def _create(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""
