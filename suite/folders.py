# SPDX-License-Identifier: Apache-2.0
"""Words that name several folders."""

from __future__ import annotations

import shlex
from pathlib import Path

from suite.errors import SuiteError
from suite.exits import Exit


def listed(text: str, word: str) -> list[str]:
    """Return the folders of RUNS= or OUT=, separated by spaces or commas; one with spaces in its name stands in quotes.

    ``word``: what they were typed behind.

    Raises
    ------
    SuiteError
        USAGE for a quote that is not closed.
    """
    if text and Path(text).expanduser().exists():
        return [text]
    try:
        parts = shlex.split(text)
    except ValueError as error:
        next_step = "A folder with spaces in its name stands in quotes of its own."
        raise SuiteError(Exit.USAGE, f"{word}={text}: {error}", next_step) from error
    out = []
    for part in parts:
        whole = Path(part).expanduser().exists()
        out += [part] if whole else [each for each in part.split(",") if each]
    return list(dict.fromkeys(out))
