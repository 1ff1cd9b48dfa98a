# SPDX-License-Identifier: Apache-2.0
"""One run on one GPU at a time: a lock tells two runs apart, because each would be the other's noise."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator, Sequence
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
    gpus = [(str(gpu.get("index")), str(gpu.get("uuid"))) for gpu in run.host.get("nvidia", {}).get("gpus", [])]
    named = run.worker_environment.get("CUDA_VISIBLE_DEVICES")
    if named is None:
        return [uuid for _, uuid in gpus]
    words = [word.strip() for word in named.split(",")]
    parts = [word for word in words if word.startswith("MIG-")]  # part of a GPU: nvidia-smi's list has whole ones
    return parts + [uuid for index, uuid in gpus if any(_means(word, index, uuid) for word in words)]


def _means(word: str, index: str, uuid: str) -> bool:
    # CUDA takes the beginning of a UUID for the whole.
    return word == index or (word.startswith("GPU-") and uuid.startswith(word))


@contextlib.contextmanager
def _claimed(uuid: str, run: Run, folder: Path) -> Iterator[None]:
    path = folder / f"coldwarm-{uuid}.lock"
    try:
        descriptor = _open(path)
    except OSError:
        yield  # nobody can be told, and nobody can be asked: better measured than refused
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        holder = _text(descriptor) or "another run"
        os.close(descriptor)
        what = f"{uuid} is being measured by {holder}"
        raise SuiteError(
            Exit.NOT_PREPARED, what, "Wait until it has ended, or name another GPU with GPU=."
        ) from error
    with contextlib.suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{run.stack['name']} {run.run_id} (process {os.getpid()})".encode())
    try:
        yield
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    """Open a lock file of any user, for writing where that is allowed; make it where there is none."""
    # A symbolic link that somebody has put there would have us write into another file.
    flags = os.O_CLOEXEC | os.O_NOFOLLOW
    if not path.exists():
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | flags, 0o666)
        with contextlib.suppress(OSError):
            os.fchmod(descriptor, 0o666)  # whatever the umask: the next user's run puts its name there
        return descriptor
    # Another user's file in a shared folder may be opened, but not with O_CREAT (fs.protected_regular).
    try:
        return os.open(path, os.O_RDWR | flags)
    except PermissionError:
        return os.open(path, os.O_RDONLY | flags)


def _text(descriptor: int) -> str:
    try:
        return os.pread(descriptor, 1000, 0).decode("utf-8", errors="replace").strip()
    except OSError:
        return ""


def for_all(runs: Sequence[Run], held: contextlib.ExitStack) -> None:
    """Claim, until ``held`` is closed, the GPUs of runs that are measured together: all use those of the first.

    Raises SuiteError as :func:`gpus` does.
    """
    for run in [each for each in runs if wanted(each)][:1]:
        held.enter_context(gpus(run))
