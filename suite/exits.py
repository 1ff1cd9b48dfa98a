# SPDX-License-Identifier: Apache-2.0
"""The exit codes of ``python -m suite``: one table, one order of precedence."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum


class Exit(IntEnum):
    """What a finished command says to its caller."""

    DONE = 0
    SLOWER = 1
    USAGE = 2
    IMPOSSIBLE = 3
    NOT_PREPARED = 4
    CELLS_FAILED = 5
    AMBIGUOUS = 6
    INTERNAL = 70
    INTERRUPTED = 130


MEANING: dict[Exit, str] = {
    Exit.DONE: "done",
    Exit.SLOWER: "compare found SLOWER",
    Exit.USAGE: "usage",
    Exit.IMPOSSIBLE: "a target or comparison asked for by name is not possible here",
    Exit.NOT_PREPARED: "the stack or engine could not be prepared",
    Exit.CELLS_FAILED: "some cells failed",
    Exit.AMBIGUOUS: "ambiguous",
    Exit.INTERNAL: "internal error",
    Exit.INTERRUPTED: "interrupted",
}

#: Where several apply, the first of these is the exit code.
PRECEDENCE = (
    Exit.INTERRUPTED,
    Exit.USAGE,
    Exit.NOT_PREPARED,
    Exit.IMPOSSIBLE,
    Exit.INTERNAL,
    Exit.SLOWER,
    Exit.CELLS_FAILED,
    Exit.AMBIGUOUS,
)


def first_that_applies(found: Iterable[Exit]) -> Exit:
    """Return the exit code of a command in which all of ``found`` happened."""
    happened = set(found)
    return next((code for code in PRECEDENCE if code in happened), Exit.DONE)


def closing_line(code: Exit) -> str:
    """Return the last line of stderr, which survives nox's and make's own exit codes."""
    return f"coldwarm: exit {int(code)} ({MEANING[code]})"
