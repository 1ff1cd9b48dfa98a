# SPDX-License-Identifier: Apache-2.0
"""``export``: stored runs as tidy tables for other tools. Nothing is measured; the same runs give the same bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from suite import collect, export_rows, journal, progress
from suite.errors import SuiteError
from suite.exits import Exit
from suite.export_files import FORMATS, Files
from suite.journal import Unreadable
from suite.records import Run


def export(
    paths: Sequence[Path],
    to: Path,
    style: str | None = None,
    stack: str | None = None,
    say: Callable[[str], None] = progress.say,
) -> tuple[Exit, list[Path]]:
    """Write the runs at or below ``paths`` as the tables of :mod:`suite.export_rows`, in the order of their ids.

    Parameters
    ----------
    to
        The folder to write into.
    style
        One of :data:`suite.export_files.FORMATS`; None: the first.
    stack
        Only runs of this stack.
    say
        Takes a sentence for each run that cannot be used; it stops no other.

    Returns
    -------
    tuple
        CELLS_FAILED where a run could not be used, else DONE; and the files.

    Raises
    ------
    SuiteError
        USAGE where a path does not exist, no usable run is there, or the format is unknown; NOT_PREPARED where the
        format needs what is not installed, or the files cannot be written.
    """
    style = style or FORMATS[0]
    if style not in FORMATS:
        raise SuiteError(Exit.USAGE, f"FORMAT={style}: {style!r} is none of {', '.join(FORMATS)}")
    for path in paths:
        if not path.exists():
            raise SuiteError(Exit.USAGE, f"{path}: there is no such folder", "Name a run's folder, or OUT=.")
    runs, refused = _runs(paths, stack)
    for each in refused:
        say(f"coldwarm: not used: {each}")
    if not runs:
        where = ", ".join(str(path) for path in paths)
        of = f" of {stack}" if stack else ""
        raise SuiteError(Exit.USAGE, f"no usable run{of} below {where}", "make bench STACK=... makes one.")
    try:
        with Files(to, style, export_rows.TABLES) as files:
            for folder, run in runs:
                samples, notes = journal.read_samples(folder)
                for note in notes:
                    say(f"coldwarm: {folder}: {note}")
                for name, rows in export_rows.of_run(run, samples).items():
                    files.add(name, rows)
    except OSError as error:
        what = f"TO={to}: cannot write there: {error.strerror or error}"
        raise SuiteError(Exit.NOT_PREPARED, what, "Name another folder with TO=.") from error
    return (Exit.CELLS_FAILED if refused else Exit.DONE), files.paths()


def _runs(paths: Sequence[Path], stack: str | None) -> tuple[list[tuple[Path, Run]], list[str]]:
    """Return the usable runs by their ids, and why each of the others is not."""
    found: dict[str, tuple[Path, Run]] = {}
    refused = []
    for folder in dict.fromkeys(below for path in paths for below in collect.run_folders(path)):
        try:
            run = journal.read_run(folder)
        except Unreadable as error:
            refused.append(str(error))
            continue
        if run.run_id in found:
            refused.append(f"{folder}: run {run.run_id} a second time, as in {found[run.run_id][0]}")
        else:
            found[run.run_id] = (folder, run)
    mine = [each for _, each in sorted(found.items()) if stack is None or each[1].stack.get("name") == stack]
    return mine, refused
