# SPDX-License-Identifier: Apache-2.0
"""``collect`` over many folders: every usable run's tables again, every unusable one with its reason."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from suite import collect, progress
from suite.errors import SuiteError
from suite.exits import Exit
from suite.journal import Unreadable


def collect_all(paths: Sequence[Path], stack: str | None, report: Callable[[str], None]) -> Exit:
    """Derive and print the tables of all runs at or below ``paths``; one bad run never stops the others.

    Raises
    ------
    SuiteError
        USAGE where a path does not exist or there is no run at all.
    """
    for path in paths:
        if not path.exists():
            raise SuiteError(Exit.USAGE, f"{path}: there is no such folder", "Name a run's folder, or OUT=.")
    folders = list(dict.fromkeys(found for path in paths for found in collect.run_folders(path)))
    if not folders:
        where = ", ".join(str(path) for path in paths)
        raise SuiteError(Exit.USAGE, f"no run below {where}", "make bench STACK=... makes one.")
    good = bad = 0
    for folder in folders:
        try:
            run, samples, notes = collect.derive(folder)
        except Unreadable as error:
            progress.say(f"coldwarm: not used: {error}")
            bad += 1
            continue
        except OSError as error:
            progress.say(f"coldwarm: {folder}: the tables cannot be written: {error.strerror or error}")
            bad += 1
            continue
        if stack and run.stack.get("name") != stack:
            continue
        report(("\n" if good else "") + collect.text(run, samples, notes))
        good += 1
    return Exit.CELLS_FAILED if bad else Exit.DONE
