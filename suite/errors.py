# SPDX-License-Identifier: Apache-2.0
"""The one exception that a user sees: what is wrong, where, and what to do."""

from __future__ import annotations

from suite.exits import Exit


class SuiteError(Exception):
    """A command cannot go on, for a reason that the user can act on.

    Parameters
    ----------
    exit_code
        What the command ends with.
    what
        One sentence: what is wrong, and where (a file and field, a path, a word of the command).
    next_step
        What to do about it, or "" where the sentence says it.
    detail
        Another program's own words (pip, Python, the kernel), kept as they came.
    """

    def __init__(self, exit_code: Exit, what: str, next_step: str = "", detail: str = "") -> None:
        super().__init__(what)
        self.exit_code = exit_code
        self.what = what
        self.next_step = next_step
        self.detail = detail

    def lines(self) -> list[str]:
        """Return the message as lines for stderr: detail first, so that the cause is read last."""
        out = [line.rstrip() for line in self.detail.splitlines() if line.strip()]
        out.append(f"coldwarm: {self.what}")
        if self.next_step:
            out.append(f"          {self.next_step}")
        return out
