# SPDX-License-Identifier: Apache-2.0
"""Read files that somebody else may have made: never more at once than a whole file of ours could hold."""

from __future__ import annotations

import gc
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

#: A line of samples.jsonl is below 100 kB (2,000 warm calls and the evidence), a run.json of every shape below 1 MB.
MOST_BYTES = 16 * 2**20
_CHUNK = 2**20


def expect_many() -> None:
    """Let the garbage collector look less often: it would go through all records each time, and none is a cycle."""
    gc.set_threshold(50_000, 20, 50)


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a regular file for reading.

    Raises
    ------
    OSError
        It cannot be opened, or is no regular file: a pipe, say, whose reader would wait for ever.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(None, "not a regular file")
        yield file


def whole(path: Path, most: int = MOST_BYTES) -> bytes:
    """Return a file's bytes.

    Raises
    ------
    OSError
        As :func:`opened` does.
    ValueError
        It is longer than ``most`` bytes; no more than that were read.
    """
    with opened(path) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise ValueError(f"longer than {most // 2**20} MiB")
    return data


def lines(path: Path, most: int = MOST_BYTES) -> Iterator[tuple[bytes | None, bool]]:
    """Yield each line without its end, and whether it has one; None for a line longer than ``most`` bytes.

    Of such a line no more than that is held. Raises OSError as :func:`opened` does.
    """
    with opened(path) as file:
        while line := file.readline(most + 1):
            if line.endswith(b"\n"):
                yield line[:-1], True
            elif len(line) <= most:
                yield line, False
            else:
                yield None, _skip(file)


def _skip(file: BinaryIO) -> bool:
    """Read on to the end of the line; return whether there is one."""
    while chunk := file.readline(_CHUNK):
        if chunk.endswith(b"\n"):
            return True
    return False
